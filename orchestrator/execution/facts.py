"""What the conditions at hand rest on: asked for in the background, and known how fresh it is.

The metadata log and ZooKeeper come by themselves, through the job; the disks, the brokers' own
words, the quorum, the checks before the window and the users' own conditions are asked for. What
no condition at hand needs is not asked.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from migration.assessment.conditions import Condition, DataSource
from migration.assessment.polled import Polled
from migration.observed.source_status import meaningful_end
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.run.probes.background import Asking

_MARKS_MAX: Final = 16
_FOLLOWED: Final = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.JMX)


class FactFinder:
    """Keeps what the conditions at hand rest on; one for each cluster.

    Args:
        asking: by the wall clock, whose moments `since_ms` are.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._wanted: set[str] = set()
        self._seen: ClusterRead | None = None
        self._marks: dict[tuple[DataSource, int], int] = {}

    def close(self) -> None:
        """Ask no more; what is under way ends within its own bound."""
        self._asking.close()

    def take_in(self) -> None:
        """Take in what was answered by now: before a look, so that the look cannot be older."""
        self._asking.take_in()

    def polled(self) -> Polled:
        """The answers that were taken in last; what is due is polled again."""
        wanted, self._wanted = self._wanted, set()
        self._asking.keep(wanted)
        return self._asking.asked

    def note(self, one: ClusterRead) -> None:
        """Record what the followed sources have, before conditions are evaluated on it."""
        self._seen = one

    def keep(self, conditions: Sequence[Condition]) -> None:
        """Have what these rest on asked for every few seconds, until the next look."""
        self._wanted.update(name for _, name in _names(conditions))

    def want(self, conditions: Sequence[Condition], since_ms: int) -> None:
        """Have what these rest on asked for, unless that was begun at `since_ms` or later."""
        for _, name in _names(conditions):
            self._asking.want(name, since_ms / 1000)

    def is_fresh(
        self, conditions: Sequence[Condition], since_ms: int, without: Collection[DataSource]
    ) -> bool:
        """Whether all that these rest on was asked for at `since_ms` or later, and is here.

        `without`: sources that are not current; what holds in spite of that does not rest on them.
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
        """Whether everything that was there at some moment after `since_ms` has been taken in."""
        if source is DataSource.JMX:
            return True  # polled by others at their own pace; it only ever adds a hazard
        if self._seen is None:
            return False
        there, read, answered_ms = _progress(self._seen, source)
        mark = self._marks.get((source, since_ms))
        if mark is None:
            if there is None or answered_ms is None or answered_ms < since_ms:
                return False
            mark = self._marks[source, since_ms] = there
            while len(self._marks) > _MARKS_MAX:
                del self._marks[next(iter(self._marks))]
        return read >= mark


def _progress(one: ClusterRead, source: DataSource) -> tuple[int | None, int, int | None]:
    """How much is there, how much of it was taken in, and when its source last answered."""
    if source is DataSource.METADATA_LOG:
        offset = one.summary.metadata_offset
        read = 0 if offset is None else offset + 1
        return meaningful_end(one.status), read, one.status.last_reply_ms
    journal = one.journals.get("zookeeper")
    if journal is None or journal.last is None:
        return None, 0, None
    return journal.last, journal.read, one.zookeeper.last_reply_ms


def _names(conditions: Sequence[Condition]) -> Iterator[tuple[DataSource, str]]:
    """What has to be asked for, by the name under which it is."""
    for each in conditions:
        for source in each.needs:
            if source not in _FOLLOWED:
                yield source, each.name if source is DataSource.EXTERNAL else str(source)
