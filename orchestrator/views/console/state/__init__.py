"""Builds the console's state of a cluster, part by part."""
