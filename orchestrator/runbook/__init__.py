"""Runbooks: files of checkpoints and rollback paths; read, checked, shown and planned."""
