"""Writes logs to stderr and nowhere else; holds them back while a table owns the terminal."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import Final

from orchestrator.output.formatting import local_time
from orchestrator.output.printing import JsonFormatter, VisibleFormatter

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_KEPT_MAX: Final = 10_000


def log_to_stderr(verbosity: int, *, quiet: bool = False, as_json: bool = False) -> None:
    """Log warnings; with -v also progress, with -vv all of the own messages and tracebacks.

    Args:
        verbosity: how often -v was given.
        quiet: log only errors; `verbosity` is ignored.
        as_json: an object of JSON for each record.
    """
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    if quiet:
        verbosity, level = 0, logging.ERROR
    handler = logging.StreamHandler(sys.stderr)
    tracebacks = verbosity > 1
    handler.setFormatter(
        JsonFormatter(tracebacks=tracebacks)
        if as_json
        else VisibleFormatter(_FORMAT, tracebacks=tracebacks)
    )
    logging.basicConfig(level=max(level, logging.INFO), handlers=[handler], force=True)
    for house in ("orchestrator", "streams", "migration"):
        logging.getLogger(house).setLevel(level)
    # Its warnings contain whole URLs, and those of receivers are secrets.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def release() -> None:
    """Write the records that `held_back` keeps, and each later one at once: nothing is drawn."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, MemoryHandler):
            handler.flushLevel = logging.NOTSET
            handler.flush()


@contextmanager
def held_back() -> Iterator[Callable[[], str | None]]:
    """Buffer log lines until the end of the block, so that they do not corrupt a table.

    Yields a function that returns the last warning or error, on one line; None: there is none.
    """
    root = logging.getLogger()
    handlers = list(root.handlers)
    keepers = [
        MemoryHandler(_KEPT_MAX, flushLevel=logging.CRITICAL + 1, target=handler)
        for handler in handlers
    ]
    shown = VisibleFormatter("%(message)s", tracebacks=False)

    def latest() -> str | None:
        lines = keepers[0].buffer if keepers else []
        last = next((each for each in lines[::-1] if each.levelno >= logging.WARNING), None)
        if last is None:
            return None
        return " ".join([local_time(int(last.created * 1000)), *shown.format(last).split()])

    root.handlers[:] = keepers
    try:
        yield latest
    finally:
        root.handlers[:] = handlers
        for keeper in keepers:
            keeper.close()  # also writes the buffered lines
