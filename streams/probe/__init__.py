"""Bounded queries on demand: for the checks, for conditions and for what-if. Reads only."""
