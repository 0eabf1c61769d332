"""The process: crashes, logs, HTTP server, environment, owner of a lock."""
