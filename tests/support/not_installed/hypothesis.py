"""Stands before Hypothesis on the path of a process that a test starts (tests/conftest.py)."""

raise ImportError("Hypothesis is not part of an installation")
