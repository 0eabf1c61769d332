"""Moves between log directories: the file, the planner, permission, progress (KIP-113)."""
