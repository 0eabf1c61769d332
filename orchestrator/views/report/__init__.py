"""`kraftgate report`: what happened in a window, from the store and the audit trail alone.

`gather` reads a state directory; `build` folds what it has into a `model.Report`, which is the same
for the same state; the `write_...` modules make a page, Markdown or JSON of it.
"""
