"""Publishes each change of state to the open pages."""
