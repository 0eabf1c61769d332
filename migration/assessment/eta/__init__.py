"""The remaining time of the assignment of directories."""
