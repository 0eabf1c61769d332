"""Writes logs to stderr and nowhere else; holds them back while a table owns the terminal."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import Final

from orchestrator.output.printing import VisibleFormatter

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_KEPT_MAX: Final = 10_000


def log_to_stderr(verbosity: int) -> None:
    """Log warnings; with -v also progress, with -vv all of the own messages and tracebacks."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter(_FORMAT, tracebacks=verbosity > 1))
    logging.basicConfig(level=max(level, logging.INFO), handlers=[handler], force=True)
    logging.getLogger().setLevel(logging.WARNING if verbosity == 0 else logging.INFO)
    for house in ("orchestrator", "streams", "migration"):
        logging.getLogger(house).setLevel(level)


@contextmanager
def held_back() -> Iterator[None]:
    """Buffer log lines until the end of the block, so that they do not corrupt a table."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    keepers = [
        MemoryHandler(_KEPT_MAX, flushLevel=logging.CRITICAL + 1, target=handler)
        for handler in handlers
    ]
    root.handlers[:] = keepers
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for keeper in keepers:
            keeper.close()  # also writes the buffered lines
