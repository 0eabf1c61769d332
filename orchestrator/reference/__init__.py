"""Writes the reference pages of the handbook from the code that they describe.

`make reference` rewrites them; `tests/manual/test_reference.py` fails when a page differs.
"""
