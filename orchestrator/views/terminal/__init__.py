"""The view of a cluster in a terminal: a table, or without a terminal one line per change."""
