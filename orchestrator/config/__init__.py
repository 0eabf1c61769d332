"""Reads and checks kraftgate.yaml and the state directory that it names."""
