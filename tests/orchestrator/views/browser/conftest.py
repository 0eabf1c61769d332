"""One browser for all tests, one console for those of a file; a world of their own for who asks."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.orchestrator.views.browser.desk import SEEN_MS, Desk, chromium
from tests.orchestrator.views.console.serve import Served, serving
from tests.orchestrator.views.console.world import World

Start = Callable[..., Served]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        expect.set_options(timeout=SEEN_MS)
        yield browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A night in which broker 2 of four is held; nothing goes on unless a test has it so."""
    with serving(World(tmp_path_factory.mktemp("console") / "world", now_ms())) as served:
        yield looked(served)


@pytest.fixture
def desk(browser: Browser, served: Served) -> Iterator[Desk]:
    desk = Desk(browser, served)
    yield desk
    desk.close()


@pytest.fixture
def start(desk: Desk, tmp_path: Path) -> Iterator[Start]:
    """Starts a console over a world of that kind; pages are closed before it ends."""
    with ExitStack() as stack:

        def begin(**kind: object) -> Served:
            world = World(tmp_path / "world", now_ms(), **kind)  # type: ignore[arg-type]
            return looked(stack.enter_context(serving(world)))

        yield begin
        desk.close()


def looked(served: Served) -> Served:
    served.look()
    served.until_shown()
    return served


def now_ms() -> int:
    return time.time_ns() // 1_000_000
