"""Helpers for the Python process of a source: background threads, garbage collection."""
