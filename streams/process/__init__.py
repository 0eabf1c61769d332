"""What every source shares of the Python process: threads, garbage collection."""
