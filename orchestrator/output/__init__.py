"""Prints to stdout and stderr, with hidden characters made visible."""
