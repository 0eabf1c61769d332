"""A newcomer at the console: the headline of the page, its buttons, and its commands."""

from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect

from migration.assessment.next_action import Need
from orchestrator.errors import ExitCode
from orchestrator.lab import Lab
from tests.support.approving import ANNA, BORIS, REASON
from tests.system.killing import CLUSTER, Killed
from tests.system.newcomer import Headline, Newcomer, do_task, perform, run_command

_READ: Final = """() => {
  const now = document.querySelector(".now"), wait = now?.querySelector(".wait");
  if (!wait) return null;
  const text = (at) => wait.querySelector(at)?.textContent ?? "";
  return {
    need: now.dataset.tone,
    place: text(".eyebrow"),
    text: text("[data-testid=waiting]"),
    why: text("[data-testid=why]"),
    commands: [...wait.querySelectorAll(".command code")].map((each) => each.textContent),
  };
}"""


class AtThePage:
    """One person in the page and a second one in a terminal.

    Attributes:
        newcomer: who follows the page.
        pressed: the dialog and the answer of each button.
    """

    def __init__(self, page: Page, lab: Lab, run: Killed) -> None:
        self._page = page
        self._lab = lab
        self._state: Path = run.state
        self.newcomer = Newcomer(run, self.read, self._act)
        self.pressed: list[tuple[str, str]] = []

    def read(self) -> Headline | None:
        """Return the headline; None: there is none, or the page shows old data."""
        found = self._page.evaluate(_READ)
        if found is None or found["need"] == "old":
            return None
        need, commands = Need(found.pop("need")), tuple(found.pop("commands"))
        return Headline(need=need, commands=commands, **found)

    def _act(self, now: Headline) -> None:
        if now.text.startswith("Approve: ") and BORIS in now.why:
            done = run_command(now.commands[0], REASON, "--who", ANNA)
            assert done.returncode == ExitCode.DONE, done.stderr
        elif now.answers:
            do_task(self._lab, now)
            self._press()
        else:
            perform(self._lab, now, REASON)

    def _press(self) -> None:
        """Press the button that the page emphasizes, and answer its dialog."""
        toast = self._page.locator(".toast")
        expect(toast).to_have_text("")  # not that of the former press
        self._page.locator(".actions .button.primary").click()
        dialog = self._page.locator("dialog.action-dialog")
        text = dialog.inner_text()
        given = {"Your name": BORIS, "Why": REASON, "Type the cluster": CLUSTER}
        (token,) = self._state.glob("console-*.token")
        for field, answer in {**given, "Token": token.read_text("ascii").strip()}.items():
            asked = dialog.get_by_label(field)
            if asked.count():
                asked.fill(answer)
        dialog.locator("button.primary").click()
        expect(toast).not_to_have_text("")
        self.pressed.append((text, toast.inner_text()))
