"""A store and a query that say what a test wants.

Faking is right here: the commands, their screens and their exit codes are under test. The real
store and job have tests of their own.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from migration.observed.source_status import SourceStatus
from orchestrator.config.load import Config
from orchestrator.run.job import Following
from streams.state import source_status
from streams.state.store import Store


class FakeStore(Store):
    """Holds summaries and numbered events in memory."""

    def __init__(self) -> None:
        self.summaries: dict[str, ClusterSummary] = {}
        self.told: dict[str, list[tuple[int, Event]]] = {}
        self.places: dict[tuple[str, str], int] = {}

    def close(self) -> None: ...

    def clusters(self) -> list[str]:
        return sorted(self.summaries)

    def summary(self, cluster: str) -> ClusterSummary | None:
        return self.summaries.get(cluster)

    def events(
        self, cluster: str, after: int = 0, limit: int | None = None, *, newest: bool = False
    ) -> list[tuple[int, Event]]:
        found = [pair for pair in self.told.get(cluster, []) if pair[0] > after]
        if limit is None:
            return found
        return found[-limit:] if newest else found[:limit]

    def place(self, cluster: str, source: str) -> int:
        return self.places.get((cluster, source), 0)

    def counts(self, cluster: str, after: int = 0) -> tuple[int, dict[str, int]]:
        found = self.events(cluster, after)
        last = found[-1][0] if found else after
        return last, Counter(event.kind for _, event in found)

    def of_kinds(self, cluster: str, kinds: Sequence[str]) -> list[Event]:
        return [event for _, event in self.events(cluster) if event.kind in kinds]


class FakeFollowing:
    """A query that does at each look what the test wants, and remembers that it was stopped."""

    def __init__(self, at_each_poll: Callable[[int], None] = lambda _: None) -> None:
        self.polls = 0
        self.stopped = False
        self._at_each_poll = at_each_poll
        self._state_dir: Path | None = None

    def poll(self) -> None:
        self.polls += 1
        self._report()
        self._at_each_poll(self.polls)

    def _report(self) -> None:
        """As the sources do: what an earlier process reported counts for nothing."""
        for file in self._state_dir.glob("clusters/*/*.json") if self._state_dir else ():
            status = json.loads(file.read_bytes())
            if "observed_ms" in status:
                status["observed_ms"] += 1
                file.write_text(json.dumps(status))

    def stop(self) -> None:
        self.stopped = True

    def follow(self, config: Config, *_: object) -> AbstractContextManager[Following | None]:
        self._state_dir = config.state_dir

        @contextmanager
        def followed() -> Iterator[Following | None]:
            try:
                yield self
            finally:
                self.stop()

        return followed()


def write_status(state_dir: Path, cluster: str, status: SourceStatus) -> None:
    """What a source would have written."""
    state_dir.mkdir(exist_ok=True)
    source_status.write_status(state_dir / "clusters" / cluster / "source.json", status)
