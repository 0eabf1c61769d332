"""Moves of the replicas of one shard in one batch, and what the image needs of them."""

from typing import Final

from migration.metadata.partitions import (
    LOST_NUMBER,
    MIGRATING_NUMBER,
    UNASSIGNED_NUMBER,
    Numbers,
    Replicas,
    moves,
)
from migration.shard.pending import PendingSteps
from migration.shard.report import ShardReport
from migration.shard.transitions import (
    ABSENT,
    ASSIGNED_STATE,
    LOST_STATE,
    MIGRATING_STATE,
    OFFLINE_STATE,
    UNASSIGNED_STATE,
    Registrations,
    Transitions,
    directory_changes,
    last_assignments,
    place,
)
from migration.shard.transitions import Numbers as Table

_RESERVED_PLACES: Final = (
    place(MIGRATING_NUMBER, MIGRATING_STATE),
    place(UNASSIGNED_NUMBER, UNASSIGNED_STATE),
    place(LOST_NUMBER, LOST_STATE),
)


class Moves:
    """Collects moves in log order."""

    def __init__(self, registered: dict[int, frozenset[int]]) -> None:
        """Begin a batch; `registered`: the directories of each broker before it."""
        self.transitions = Transitions()
        self._registrations = Registrations(registered)
        self._barriers: dict[int, list[int]] = {}
        self._ends: list[int] = []
        self._topic_numbers: dict[bytes, int] = {}

    def topic(self, topic_id: bytes, name: str) -> int:
        """The topic's number in this batch."""
        number = self._topic_numbers.get(topic_id)
        if number is None:
            number = self._topic_numbers[topic_id] = len(self._topic_numbers)
            self.transitions.topics.append((topic_id, name))
        return number

    def moved(
        self, at: tuple[int, int, int, int], before: Replicas | None, after: Replicas | None
    ) -> None:
        """Record that replicas of a partition changed directory, were added or removed.

        `at`: metadata offset, timestamp (ms), the topic's number, partition.
        """
        changes = self.transitions
        if before is None and after is not None:
            count = len(after.brokers)
            changes.heads += (*at, count)
            changes.brokers += after.brokers
            changes.was += (ABSENT,) * count
            changes.now += after.directories
        elif before is not None and after is not None and before.brokers == after.brokers:
            changes.heads += (*at, len(after.brokers))
            changes.brokers += after.brokers
            changes.was += before.directories
            changes.now += after.directories
        else:
            for broker, was, now in moves(before, after):
                changes.heads += (*at, 1)
                changes.brokers.append(broker)
                changes.was.append(ABSENT if was is None else was)
                changes.now.append(ABSENT if now is None else now)

    def barrier(self, broker: int, offset: int) -> None:
        """Record that the record at this offset is about the broker."""
        self._barriers.setdefault(broker, []).append(offset)

    def end(self, until: int) -> None:
        """Record that a part of the log ends before this offset."""
        self._ends.append(until)

    def reload(self, registered: dict[int, frozenset[int]]) -> None:
        """Set the directories of all brokers, from a snapshot."""
        self._registrations = Registrations(registered)

    def all_gone(self, registered: dict[int, frozenset[int]]) -> None:
        """Drop all moves so far, and set the directories of all brokers."""
        self._registrations.forget(len(self.transitions.brokers))
        for broker, directories in registered.items():
            self.registered(broker, directories)

    def registered(self, broker: int, directories: frozenset[int]) -> None:
        """Set a broker's directories from here on; none: it is not registered."""
        self._registrations.change(broker, len(self.transitions.brokers), directories)

    def restated(
        self,
        at: tuple[int, int, int, int],
        broker: int,
        directory: int,
        before: frozenset[int],
        after: frozenset[int],
    ) -> None:
        """Record that a replica keeps its directory while its broker's registration changes."""
        was, now = _place(directory, before), _place(directory, after)
        if was != now:
            self.transitions.restated += (*at, broker, was, now)

    def finish(
        self, report: ShardReport, numbers: Numbers, pending: dict[int, int]
    ) -> Table | None:
        """Write the moves to the report and update `pending`. None: nothing moved."""
        if not self.transitions.brokers and not self.transitions.restated:
            return None
        table = self.transitions.columns(self._registrations)
        report.directories = directory_changes(table, numbers.ids())
        report.assigned_ms = last_assignments(table)
        steps = PendingSteps(table)
        report.movements = steps.movements(self._barriers, self._ends)
        report.crossings = steps.crossings(pending)
        return table


def _place(directory: int, online: frozenset[int]) -> int:
    """As `migration.metadata.partitions.classify`, in numbers."""
    if directory <= LOST_NUMBER:
        return _RESERVED_PLACES[directory]
    if online and directory not in online:
        return place(directory, OFFLINE_STATE)
    return place(directory, ASSIGNED_STATE)
