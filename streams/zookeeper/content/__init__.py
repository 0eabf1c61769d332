"""Reads the content of ZooKeeper for the comparison with the metadata log."""
