"""The data of the current checkpoint's conditions: polled in the background, with its age.

The job delivers the metadata log and ZooKeeper. The log directories, the topics and settings that
the brokers report, the quorum, the preflight checks and the users' own conditions are polled. A
source that no condition of the current checkpoint needs is not polled.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from migration.assessment.conditions import Condition, DataSource
from migration.assessment.polled import Polled
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.run.probes.poller import Poller
from orchestrator.run.probes.probes import disks_polled, own_polls, polls_of
from orchestrator.run.reader import ClusterRead
from orchestrator.runbook.model import Runbook

_MARKS_MAX: Final = 16
_FOLLOWED: Final = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.JMX)


class FactFinder:
    """Polls what the current conditions need; one instance for each cluster.

    Args:
        poller: must use the wall clock, because `since_ms` are wall-clock times.
    """

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._wanted: set[str] = set()
        self._seen: ClusterRead | None = None
        self._marks: dict[tuple[DataSource, int], int] = {}

    @classmethod
    def of(cls, config: Config, entry: ClusterEntry, runbook: Runbook) -> "FactFinder":
        polls = dict(polls_of(config, entry, frozenset(DataSource)))
        if entry.brokers is not None:
            polls[DataSource.LOG_DIRS] = partial(
                disks_polled, config.state_dir, entry.name, "a checkpoint"
            )
        own = own_polls(runbook.conditions, entry.name)
        return cls(Poller(polls, own, clock_s=time.time))

    def close(self) -> None:
        """Stop polling; a running poll ends within its own time limit."""
        self._poller.close()

    def store_answers(self) -> None:
        """Store the answers that have arrived; before a read, so that no answer is newer."""
        self._poller.store_answers()

    def polled(self) -> Polled:
        """Return the answers that were stored last; poll again the sources that are due."""
        wanted, self._wanted = self._wanted, set()
        self._poller.poll_due(wanted)
        answers = self._poller.answers
        # The job follows the log directories; a poll that failed counts only while it is repeated.
        return answers if DataSource.LOG_DIRS in wanted else replace(answers, log_dirs=None)

    def note(self, one: ClusterRead) -> None:
        """Record the data of the followed sources, before conditions are evaluated on it."""
        self._seen = one

    def keep(self, conditions: Sequence[Condition]) -> None:
        """Poll what these conditions need every few seconds, until the next tick."""
        self._wanted.update(name for _, name in _names(conditions))

    def keep_sources(self, sources: Collection[DataSource]) -> None:
        """Poll these sources every few seconds, until the next tick."""
        self._wanted.update(map(str, sources))

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        """Poll what these conditions need, unless that poll began at `since_ms` or later."""
        for _, name in _names(conditions):
            self._poller.poll_since(name, since_ms / 1000)

    def is_polled(self, conditions: Sequence[Condition], since_ms: int) -> bool:
        """Poll what these conditions need; return whether it was polled since `since_ms`."""
        self.keep(conditions)
        self.want(conditions, since_ms)
        polled = {name for _, name in _names(conditions)} & self._poller.names
        return all(self._poller.is_answered(name, since_ms / 1000) for name in polled)

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        """Return whether all that these conditions need was polled since `since_ms`.

        The poll must have begun at `since_ms` or later, and its answer must be here. `without` are
        sources that are not current: conditions that hold nevertheless do not depend on them.
        """
        followed = {source for each in conditions for source in each.needs if source in _FOLLOWED}
        return all(
            self._is_read(source, since_ms) for source in followed if source not in without
        ) and all(
            self._poller.is_answered(name, since_ms / 1000)
            for source, name in _names(conditions)
            if source not in without
        )

    def _is_read(self, source: DataSource, since_ms: int) -> bool:
        """Return whether all records that existed at some time after `since_ms` have been read."""
        if source is DataSource.JMX:
            return True  # polled at its own pace; it only ever adds a hazard
        if self._seen is None:
            return False
        end, read = self._seen.position(source)
        answered_ms = self._seen.sources[source].last_reply_ms
        mark = self._marks.get((source, since_ms))
        if mark is None:
            if end is None or answered_ms is None or answered_ms < since_ms:
                return False
            mark = self._marks[source, since_ms] = end
            while len(self._marks) > _MARKS_MAX:
                del self._marks[next(iter(self._marks))]
        return read >= mark


def _names(conditions: Sequence[Condition]) -> Iterator[tuple[DataSource, str]]:
    """Yield the sources that must be polled, with the name of each poll."""
    for each in conditions:
        for source in each.needs:
            if source not in _FOLLOWED:
                yield source, each.name if source is DataSource.EXTERNAL else str(source)
