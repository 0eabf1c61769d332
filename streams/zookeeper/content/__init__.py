"""Reads the content of ZooKeeper that is compared with the metadata log."""
