"""The live follower: copies the committed metadata log of a running quorum into a spool.

This module imports nothing, so that code that needs only the file names does not load the network
client.
"""
