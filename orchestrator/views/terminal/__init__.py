"""What a person sees of a followed cluster: a table in a terminal, one line per change without."""
