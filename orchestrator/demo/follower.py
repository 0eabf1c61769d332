"""The demo's `kraftgate run`, a child on the same terminal, and the demo's reads of its store."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from migration.image.summary import ClusterSummary
from orchestrator.config.load import load_config
from orchestrator.lab.machine.spawner import tied_to_this_process
from orchestrator.run.assessed import Assessed
from orchestrator.run.assessor import Assessor
from orchestrator.run.reader import Reader
from orchestrator.views.terminal.live import picture
from orchestrator.views.terminal.table import save_svg

_FONT_FACE: Final = re.compile(r"\s*@font-face \{.*?\}|<!--.*?-->", re.DOTALL)
_LOOK_S: Final = 0.2
_EVENTS: Final = 10
_WIDTH: Final = 120
_INTERRUPTED_S_MAX: Final = 20.0
_STOP_S_MAX: Final = 20.0


class DemoFailed(Exception):
    """The demo did not complete; the message has the reason."""


class Follower:
    """Runs `kraftgate run --until finalized` until this context ends.

    Every wait of the demo on Kraftgate's data goes through here: like an operator, the demo starts
    no step before the last one is on the screen.
    """

    def __init__(self, config: Path) -> None:
        kraftgate = Path(sys.executable).with_name("kraftgate")
        command = [str(kraftgate), "run", "--config", str(config), "--until", "finalized"]
        self._process = subprocess.Popen(tied_to_this_process(command), stdin=subprocess.DEVNULL)
        self._config = load_config(config)
        self._assessor = Assessor(self._config, Reader(self._config, newest=_EVENTS))
        self._telling: Assessed | None = None

    def __enter__(self) -> Self:
        """Return this; the process runs since the constructor."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the process gracefully, if it has not ended.

        A terminal's Ctrl-C reached the process too, and a second signal would make it exit at once.
        """
        if kind is KeyboardInterrupt and self._ended_within(_INTERRUPTED_S_MAX):
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        if not self._ended_within(_STOP_S_MAX):
            self._process.kill()
            self._process.wait()

    def must_run(self) -> None:
        """Check that the process is still running.

        Raises:
            DemoFailed: it ended before the migration did.
        """
        code = self._process.poll()
        if code is not None:
            raise DemoFailed(f"kraftgate run ended with {code} before the migration did")

    def wait_seen(
        self, what: str, holds: Callable[[ClusterSummary], bool], timeout_s: float
    ) -> None:
        """Wait until Kraftgate's data satisfies a predicate.

        Raises:
            DemoFailed: the process ended, or the timeout is over.
        """
        deadline_s = time.monotonic() + timeout_s
        while not holds(self.look()):
            self.must_run()
            if time.monotonic() > deadline_s:
                raise DemoFailed(f"kraftgate did not see within {timeout_s:.0f} s that {what}")
            time.sleep(_LOOK_S)

    def wait_done(self, timeout_s: float) -> None:
        """Wait until the process ends because its own condition holds.

        Raises:
            DemoFailed: it failed, or did not end in time.
        """
        if not self._ended_within(timeout_s):
            raise DemoFailed(f"kraftgate run did not see the end within {timeout_s:.0f} s of it")
        code = self._process.returncode
        if code != 0:
            raise DemoFailed(f"kraftgate run ended with {code}")

    def look(self) -> ClusterSummary:
        """Return the latest summary."""
        (one,) = self._assessor.tick(time.time_ns() // 1_000_000).clusters
        if self._telling is None or _pending(one.summary) > _pending(self._telling.summary):
            self._telling = one
        return one.summary

    def save_picture(self, path: Path) -> None:
        """Write the live view of the moment with the most replicas pending on a held broker.

        Raises:
            DemoFailed: no summary was read.
        """
        if self._telling is None:
            raise DemoFailed("there is nothing to make a picture of")
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = picture(self._telling, _WIDTH)
        save_svg(drawn, path, width=_WIDTH)
        path.write_text(self_contained(path.read_text("utf-8")), "utf-8")

    def _ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def self_contained(svg: str) -> str:
    """Remove the fonts that rich would load from the network; the viewer's own fonts are used."""
    return _FONT_FACE.sub("", svg)


def _pending(summary: ClusterSummary) -> tuple[int, int]:
    """Return the pending replicas on held brokers, and on all brokers.

    A later moment with the same numbers shows nothing more.
    """
    brokers = summary.brokers
    return sum(b.pending for b in brokers if b.held), sum(b.pending for b in brokers)
