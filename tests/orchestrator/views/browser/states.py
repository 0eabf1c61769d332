"""Takes a picture of every view in every state that an operator meets, to look at them.

    python -m tests.orchestrator.views.browser.states --out FOLDER [--state held ...]

It needs no lab: the cluster is made up, the console and Chromium are real. The pictures are named
STATE-VIEW-light.png, -dark.png and -phone.png, and show the whole page.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, VIEWS, Desk, Size, Theme, chromium
from tests.orchestrator.views.console.scenes import Scene
from tests.orchestrator.views.console.serve import serving
from tests.orchestrator.views.console.world import World

STATES: Final[Mapping[str, Scene]] = {
    "held": "night",
    "failed-directory": "failed-directory",
    "failed-step": "failed-step",
    "by-hand": "by-hand",
    "approval": "approve",
    "rolled-back": "rolled-back",
    "finalized": "finalized",
}
_LOOKS: Final[Mapping[str, tuple[Theme, Size]]] = {
    "light": ("light", LAPTOP),
    "dark": ("dark", LAPTOP),
    "phone": ("dark", PHONE),
}
_TALL_MAX: Final = 4_000
_DRAWN: Final = (
    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
)


def enter(desk: Desk, scene: Scene, *pages: Page) -> None:
    """Let the open pages arrive at a scene."""
    world = desk.served.world
    world.become(scene, time.time_ns() // 1_000_000)
    desk.served.watch()
    desk.served.look()
    for page in pages:
        page.wait_for_function(
            "began => window.kraftgate.known().model?.looked_ms >= began", arg=world.at.now_ms
        )
        drawn(page)


def views(desk: Desk, page: Page) -> Iterator[str]:
    """Show each view in turn, in the page that is open."""
    for view in VIEWS:
        page.evaluate("view => { location.hash = `#/prod/${view}`; }", view)
        page.wait_for_selector("main .panel")
        if view == "timeline":
            page.wait_for_selector(".chart svg")
        desk.refresh()
        drawn(page)
        yield view


def drawn(page: Page) -> None:
    """Wait until what the page knows is on the screen."""
    page.evaluate(_DRAWN)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state", choices=STATES, nargs="+", default=list(STATES))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for state in given.state:
            world = World(Path(folder) / state, time.time_ns() // 1_000_000, scene=STATES[state])
            with serving(world) as served:
                _take_all(Desk(browser, served), given.out / state)


def _take_all(desk: Desk, start: Path) -> None:
    """One picture for each view and look."""
    desk.served.watch()
    for look, (theme, size) in _LOOKS.items():
        page = desk.open(theme=theme, size=size)
        for view in views(desk, page):
            _take(page, start.with_name(f"{start.name}-{view}-{look}.png"), size)
    desk.close()


def _take(page: Page, file: Path, size: Size) -> None:
    """The whole page; rows that are not in sight are drawn only if the window has room for them."""
    width, height = size
    tall = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": max(height, min(tall, _TALL_MAX))})
    drawn(page)
    page.screenshot(path=file)
    page.set_viewport_size({"width": width, "height": height})
    sys.stdout.write(f"{file.name}\n")


if __name__ == "__main__":
    main()
