"""The process: crashes, logs, admission of connections, environment, owner of a lock."""
