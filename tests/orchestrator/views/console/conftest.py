"""A console over a made-up cluster, fresh for each test; time stands still until it is moved."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.orchestrator.conftest import config_file, store
from tests.orchestrator.views.console.serve import Served, serving
from tests.orchestrator.views.console.world import World

__all__ = ["config_file", "store"]

Start = Callable[..., Served]


@pytest.fixture(scope="module")
def begin_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a console that the tests of a file share, for they change nothing in it."""
    with ExitStack() as stack:

        def begin(**kind: object) -> Served:
            folder = tmp_path_factory.mktemp("shared") / "world"
            return _looked(stack.enter_context(serving(World(folder, _now_ms(), **kind))))  # type: ignore[arg-type]

        yield begin


@pytest.fixture
def start(tmp_path: Path, now_ms: int) -> Iterator[Start]:
    """Starts a console over a world of that kind; it was looked at once."""
    with ExitStack() as stack:

        def begin(*, looked: bool = True, **kind: object) -> Served:
            world = World(tmp_path / "world", now_ms, **kind)  # type: ignore[arg-type]
            served = stack.enter_context(serving(world))
            return _looked(served) if looked else served

        yield begin


@pytest.fixture
def now_ms() -> int:
    """The real time, since commands judge by it; early in a second, which some things wait for."""
    return _now_ms()


def _now_ms() -> int:
    now = time.time_ns() // 1_000_000
    return now - now % 1000 + 10


def _looked(served: Served) -> Served:
    served.look()
    served.until_shown()
    return served
