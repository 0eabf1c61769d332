"""The poller of the brokers' disks: what it concludes, what it remembers, and a real cluster."""
