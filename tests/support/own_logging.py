"""Restores what a command that runs in this process sets up for its log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logging_kept() -> Iterator[None]:
    """Give the logging of this process back at the end."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for package in ("orchestrator", "streams", "migration"):
            logging.getLogger(package).setLevel(logging.NOTSET)
