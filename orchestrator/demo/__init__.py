"""The demo: a real cluster migrates to KRaft while `kraftgate run` follows it."""
