"""Runs the operator's commands for steps, supervised; they outlive Kraftgate."""
