"""How long the assignment of directories takes."""
