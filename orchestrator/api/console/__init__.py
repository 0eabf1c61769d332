"""The JSON of the console: state, answers, errors, schema."""
