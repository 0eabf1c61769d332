"""The JSON of `status`, `replay`, the console and the report."""
