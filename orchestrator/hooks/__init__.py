"""Runs the operator's commands that perform steps, supervised; they outlive Kraftgate."""
