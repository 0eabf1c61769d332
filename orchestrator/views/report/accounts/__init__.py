"""Folds the gathered facts into the parts of the report."""
