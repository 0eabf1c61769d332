"""Answers single questions of the page: timeline, pending replicas, a gate's evidence."""
