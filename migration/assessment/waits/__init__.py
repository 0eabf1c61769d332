"""What the migration waits for, with a name for each reason."""
