"""The waits of the migration, each with a named reason."""
