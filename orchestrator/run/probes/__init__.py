"""Conditions judged on a live cluster: what of it is current, and what has to be asked for."""
