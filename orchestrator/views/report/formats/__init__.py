"""Writes the report as HTML, JSON and Markdown."""
