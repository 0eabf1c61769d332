"""Makes the pictures of README and handbook of the console.

    python -m tests.orchestrator.views.browser.pictures [--out runbooks/pictures]

Most are of a real migration, three brokers with three directories each; it takes some minutes. The
one of 300 brokers is of a made-up cluster.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from tests.orchestrator.views.browser.desk import LAPTOP, PHONE, Size, Theme, chromium
from tests.orchestrator.views.browser.newcomer import AtThePage
from tests.orchestrator.views.browser.night import Scene, night
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.serve import serving
from tests.orchestrator.views.console.world import World
from tests.system.killing import CLUSTER

_SETTLED_MS: Final = 2_000
_WIDE: Final[Size] = (1280, 1000)


@dataclass(frozen=True)
class Shot:
    """One picture: its file, what it shows, and how."""

    name: str
    view: str
    theme: Theme
    size: Size = LAPTOP


REAL: Final[dict[Scene, tuple[Shot, ...]]] = {
    "held": (
        Shot("console-dark", "overview", "dark"),
        Shot("console-light", "overview", "light"),
        Shot("console-phone", "overview", "dark", PHONE),
        Shot("console-broker", "brokers?broker=1", "light"),
    ),
    "offline": (
        Shot("console-directories", "directories", "dark"),
        Shot("console-needs-a-person", "overview", "light"),
    ),
    "finalized": (Shot("console-timeline", "timeline", "light"),),
}
LARGE: Final = Shot("console-300-brokers", "directories", "dark", _WIDE)


def main() -> None:
    """Take all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runbooks/pictures"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kraftgate-pictures-") as home, chromium() as browser:
        _large(browser, Path(home) / "large", out)
        real = Path(home) / "real"
        real.mkdir()
        with night(real, brokers=3, directories=3) as now:
            page = browser.new_page()
            page.goto(f"{now.url}/#/{CLUSTER}/overview")
            for scene in now.scenes(AtThePage(page, now.lab, now.run)):
                for shot in REAL.get(scene, ()):
                    _take(browser, f"{now.url}/#/{CLUSTER}/{shot.view}", shot, out)
            page.close()


def _large(browser: Browser, folder: Path, out: Path) -> None:
    at_ms = time.time_ns() // 1_000_000
    with serving(World(folder, at_ms, shape=sample.BIG)) as served:
        served.advance(time.time_ns() // 1_000_000, share=0.4)
        served.until_shown()
        _take(browser, f"{served.url}/#/prod/{LARGE.view}", LARGE, out)


def _take(browser: Browser, url: str, shot: Shot, out: Path) -> None:
    width, height = shot.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=shot.theme, locale="en-GB"
    )
    page.goto(url)
    page.wait_for_selector(".now")
    page.wait_for_timeout(_SETTLED_MS)
    page.screenshot(path=out / f"{shot.name}.png")
    page.close()
    sys.stdout.write(f"{shot.name}.png\n")


if __name__ == "__main__":
    main()
