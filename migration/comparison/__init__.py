"""Compares the metadata log with ZooKeeper and with the log directories."""
