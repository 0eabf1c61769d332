"""Evaluates conditions on a live cluster: which of its data is current, and what must be polled."""
