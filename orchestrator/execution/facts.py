"""The data of the current checkpoint's conditions: polled in the background, with its age.

The job delivers the metadata log and ZooKeeper. The log directories, the topics and settings that
the brokers report, the quorum, the preflight checks and the users' own conditions are polled. A
source that no condition of the current checkpoint needs is not polled.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from migration.assessment.conditions import Condition, DataSource
from migration.assessment.polled import Polled
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.run.probes.background import Asking

_MARKS_MAX: Final = 16
_FOLLOWED: Final = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.JMX)


class FactFinder:
    """Polls what the current conditions need; one instance for each cluster.

    Args:
        asking: must use the wall clock, because `since_ms` are wall-clock times.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._wanted: set[str] = set()
        self._seen: ClusterRead | None = None
        self._marks: dict[tuple[DataSource, int], int] = {}

    def close(self) -> None:
        """Stop polling; a running poll ends within its own time limit."""
        self._asking.close()

    def take_in(self) -> None:
        """Store the answers that have arrived; before a read, so that no answer is newer."""
        self._asking.take_in()

    def polled(self) -> Polled:
        """Return the answers that were stored last; poll again the sources that are due."""
        wanted, self._wanted = self._wanted, set()
        self._asking.keep(wanted)
        return self._asking.asked

    def note(self, one: ClusterRead) -> None:
        """Record the data of the followed sources, before conditions are evaluated on it."""
        self._seen = one

    def keep(self, conditions: Sequence[Condition]) -> None:
        """Poll what these conditions need every few seconds, until the next tick."""
        self._wanted.update(name for _, name in _names(conditions))

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        """Poll what these conditions need, unless that poll began at `since_ms` or later."""
        for _, name in _names(conditions):
            self._asking.want(name, since_ms / 1000)

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
            self._asking.is_answered(name, since_ms / 1000)
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
