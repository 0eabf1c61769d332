"""The JSON of the report, and its schema."""
