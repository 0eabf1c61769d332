"""The formats of the report: HTML, JSON and Markdown."""
