"""What the tests of the command share."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """The commands set up logging for their process; the tests share one."""
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    yield
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)
    for house in ("orchestrator", "streams", "migration"):
        logging.getLogger(house).setLevel(logging.NOTSET)
