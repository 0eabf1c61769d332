"""What a person runs: the command line, configuration, the store, the view and the lab cluster."""
