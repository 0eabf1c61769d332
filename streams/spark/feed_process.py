"""A process with the feeds of some clusters (`feeds`), separate from the process that Spark calls.

Argument: by how many seconds its sources' intervals are shifted (`background.shift_intervals`).
Input, a JSON array a line: the name of a source, then "open" with its format and options, "retain"
with a position, or "damage" with a text. The process ends with its input, so it does not outlive
its parent. Output: the name, then "end" with the position of the feed's end, or "damaged" or
"failed" with a text.
"""

import json
import logging
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from streams.process.background import BackgroundThread, shift_intervals
from streams.process.bell import Bell
from streams.process.child import tell_parent
from streams.process.feed import Feed, Offset
from streams.spark.journal_source import JmxSource, LogDirsSource, ZooKeeperSource
from streams.spark.metadata_source import KraftMetadata
from streams.spark.source import Source, damages
from streams.state.source_status import note_damage

FORMATS: Final[Mapping[str, type[Source]]] = {
    each.format: each for each in (KraftMetadata, ZooKeeperSource, LogDirsSource, JmxSource)
}
STOP_S: Final = 15
"""Time to stop all feeds; then the process ends. What they stored is durable at any time."""
_LOOK_S: Final = 2.0
"""The interval of reports of all feeds: a thread that ended with an error rings no bell, and
records that are not worth a batch do not either."""

_log: Final = logging.getLogger(__name__)


class _Reporter(BackgroundThread):
    """Writes the end of each feed when it moves, or why the feed failed."""

    def __init__(self) -> None:
        super().__init__("feed-reporter", STOP_S)
        self._bell = Bell()
        self._feeds: dict[str, Feed] = {}
        self._reported: dict[str, Offset | None] = {}

    def open(self, name: str, format_: str, options: Mapping[str, str]) -> None:
        ring, source = partial(self._bell.ring, name), FORMATS[format_]

        def add() -> None:
            try:
                self._feeds[name] = source.open_feed(options, ring)
            except damages() as error:
                note_damage(source.status_file(Path(options["state"])), str(error))
                raise
            ring()

        self._guarded(name, add)

    def retain(self, name: str, done: Mapping[str, int]) -> None:
        def retain() -> None:
            try:
                self._feeds[name].retain(done)
            except damages() as error:
                self._feeds[name].note_damage(str(error))
                raise

        self._guarded(name, retain)

    def note_damage(self, name: str, damage: str) -> None:
        self._guarded(name, lambda: self._feeds[name].note_damage(damage))

    def stop(self) -> None:
        super().stop()
        for name, feed in self._feeds.items():
            self._guarded(name, feed.stop)

    def _run(self) -> None:
        due_s = 0.0
        while not self._stopping.is_set():
            names = self._bell.wait(max(0.0, due_s - time.monotonic()))
            if time.monotonic() >= due_s:
                names, due_s = set(self._feeds), time.monotonic() + _LOOK_S
            for name in names:
                self._guarded(name, partial(self._report, name))

    def _report(self, name: str) -> None:
        feed = self._feeds.get(name)
        if feed is None:  # it rings while it is being opened
            return
        end = feed.end()
        if name not in self._reported or self._reported[name] != end:
            _tell(name, "end", end)
            self._reported[name] = end

    def _guarded(self, name: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001  # the parent raises it
            _log.exception("the feed %s failed", name)
            kind = "damaged" if isinstance(error, damages()) else "failed"
            _tell(name, kind, str(error) or repr(error))


def _serve(lines: Iterable[str], reporter: _Reporter) -> None:
    for line in lines:
        request: list[Any] = json.loads(line)
        match request:
            case [name, "open", format_, options]:
                reporter.open(name, format_, options)
            case [name, "retain", done]:
                reporter.retain(name, done)
            case [name, "damage", damage]:
                reporter.note_damage(name, damage)
            case _:
                raise ValueError(f"unknown request: {line}")


def _tell(*message: object) -> None:
    tell_parent(json.dumps(message))


def main() -> None:
    """Run the feeds that are requested, until the input ends."""
    shift_intervals(float(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the input
    with _Reporter() as reporter:
        _serve(sys.stdin, reporter)
        signal.alarm(STOP_S)


if __name__ == "__main__":
    main()
