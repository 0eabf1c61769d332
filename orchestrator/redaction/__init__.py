"""Removes secrets from text, by known values and by patterns."""
