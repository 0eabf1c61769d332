"""A person at the console: a real Chromium, and pages in it whose every complaint is kept."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.orchestrator.views.console.serve import Served
from tests.support.polling import until

CHROMIUM: Final = "/usr/bin/chromium-headless-shell"
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Theme = Literal["dark", "light"]
Size = tuple[int, int]
LAPTOP: Final[Size] = (1280, 860)
PHONE: Final[Size] = (390, 740)
SEEN_MS: Final = 60_000
"""How long a busy machine may take to show something; playwright's own 5 s were too few once."""
VIEWS: Final = ("overview", "brokers", "directories", "timeline", "runbook", "hazards")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium without windows: it needs a third less time than the desktop's."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Desk:
    """Opens pages of a console.

    Attributes:
        complaints: what the pages said that they should not: errors, breaches of the policy.
        expected: parts of complaints that a test provokes.
    """

    browser: Browser
    served: Served
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    _contexts: list[BrowserContext] = field(default_factory=list)

    def open(
        self,
        place: str = "overview",
        *,
        cluster: str = "prod",
        theme: Theme = "dark",
        size: Size = LAPTOP,
        url: str | None = None,
        **more: Any,
    ) -> Page:
        """A tab of its own, at `#/CLUSTER/PLACE`; what it shows is the present."""
        width, height = size
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, **more
        )
        context.set_default_timeout(SEEN_MS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._heard(said.type, said.text))
        self.refresh()
        page.goto(f"{url or self.served.url}/#/{cluster}/{place}")
        page.wait_for_selector(".now, .locked, main.boot")
        self.refresh()  # the page may have needed more time than the present lasts
        return page

    def refresh(self) -> None:
        """Kraftgate looks now, and finds what it found before."""
        self.served.advance(time.time_ns() // 1_000_000, share=0.0)

    def until_present(self, page: Page) -> None:
        """Wait until the page shows the present; a tick is the present for 15 s.

        A page that received two messages late shows it a minute later.
        """
        band = page.locator(".old-band")

        def is_present() -> bool:
            self.refresh()
            return band.count() == 0

        until(is_present, "the page shows the present", band.all_inner_texts)

    def close(self) -> None:
        """Close every page and see that none complained."""
        for each in self._contexts:
            each.close()
        self._contexts.clear()
        left = [c for c in self.complaints if not any(part in c for part in self.expected)]
        self.complaints.clear()
        assert not left, left

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)
