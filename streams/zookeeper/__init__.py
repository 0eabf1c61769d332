"""Observes a ZooKeeper ensemble: watches its znodes, and reads or counts each notification.

This module imports nothing: a user of `known.py` alone must not load the network client.
"""
