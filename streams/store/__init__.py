"""The audit store: what the job found out, in one SQLite file, one transaction a batch."""
