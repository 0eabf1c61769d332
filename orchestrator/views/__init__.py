"""The views of an assessment; each is independent of the others."""
