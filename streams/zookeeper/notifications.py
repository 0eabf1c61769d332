"""Log directory notifications: each one read, or counted as missed, exactly once.

The active ZooKeeper controller deletes a notification some 20 ms after its creation. So the
parent is listed at once on every change, what is new is read in one go, and the parent's count of
creations (`sequence`) tells how many there were that nobody could read any more.

Where the counting stands is what was emitted (`Known.next_notification`), in the order of the
numbers; a reading that ends before it was emitted is simply done again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import NotificationsMissed, ZnodeSeen, ZooKeeperFact
from migration.observed.znodes import NOTIFICATIONS
from streams.zookeeper.ledger import Ledger, is_another
from streams.zookeeper.sequence import creations, notification_number, runs
from streams.zookeeper.session import Session
from streams.zookeeper.tree import await_creation


@dataclass(slots=True)
class _Reading:
    """One listing and the reads that it led to.

    Attributes:
        end: The parent's creations so far.
        paths: By number, the notifications listed that are not accounted for yet.
        open: How many reads are not answered yet.
        parent: The parent's znode, if it has to be emitted.
        found: By number, what was read.
    """

    end: int
    paths: dict[int, str]
    open: int = 0
    parent: ZnodeSeen | None = None
    found: dict[int, ZnodeSeen] = field(default_factory=dict)


class Notifications:
    """Reads the notifications of one session into the ledger."""

    def __init__(self, session: Session, ledger: Ledger) -> None:
        """Prepare.

        Args:
            session: To ask.
            ledger: Told of every notification.
        """
        self._session = session
        self._client = session.client
        self._ledger = ledger
        self._looking = False
        self._again = False

    def look(self) -> None:
        """List and read what is new; while that is being done, again when it is done."""
        if self._looking:
            self._again = True
            return
        self._looking, self._again = True, False
        self._session.ask(
            self._client.get_children_async,
            NOTIFICATIONS,
            self._listed,
            watch=self._session.watch(NOTIFICATIONS, self.look),
            include_data=True,
        )

    def _listed(self, answer: tuple[list[str], ZnodeStat] | None) -> None:
        known = self._ledger.known
        if answer is None:
            self._parent_gone()
            await_creation(self._session, NOTIFICATIONS, self.look)
            self._looked()
            return
        names, stat = answer
        end = creations(stat.cversion, stat.numChildren)
        if self._is_another(stat, end):
            self._parent_gone()
        there = {f"{NOTIFICATIONS}/{name}" for name in names}
        self._gone(known.below(NOTIFICATIONS) - there)
        start = known.next_notification or 0
        # A name beyond the count was given by hand, not by ZooKeeper.
        numbered = ((notification_number(path), path) for path in there)
        new = {n: path for n, path in numbered if n is not None and start <= n < end}
        reading = _Reading(end, new)
        self._read_parent(reading, stat)
        for number, path in sorted(new.items()):
            self._read(reading, number, path)
        self._finish(reading)

    def _is_another(self, stat: ZnodeStat, end: int) -> bool:
        last = self._ledger.known.znode(NOTIFICATIONS)
        return (last is not None and is_another(last, stat)) or (
            end < (self._ledger.known.next_notification or 0)
        )

    def _parent_gone(self) -> None:
        """Emit that the parent is gone, with all below: the next one's children count from 0."""
        known = self._ledger.known
        if known.znode(NOTIFICATIONS) is not None or known.next_notification != 0:
            self._ledger.gone(*sorted(known.below(NOTIFICATIONS)), NOTIFICATIONS)
            self._ledger.say(self._missed(0, 0))

    def _gone(self, paths: set[str]) -> None:
        """Emit that notifications are gone, so that the last fact tells where counting stands."""
        known = self._ledger.known
        self._ledger.gone(*sorted(paths))
        end = known.next_notification
        if paths and end is not None and notification_number(max(paths)) != end - 1:
            self._ledger.say(self._missed(end, 0))

    def _read_parent(self, reading: _Reading, stat: ZnodeStat) -> None:
        last = self._ledger.known.znode(NOTIFICATIONS)
        if last is not None and (last.mzxid, last.version) == (stat.mzxid, stat.version):
            return

        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                reading.parent = self._ledger.znode(NOTIFICATIONS, *found)
            reading.open -= 1
            self._finish(reading)

        reading.open += 1
        self._session.ask(self._client.get_async, NOTIFICATIONS, answered)

    def _read(self, reading: _Reading, number: int, path: str) -> None:
        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                reading.found[number] = self._ledger.znode(path, *found)
            reading.open -= 1
            self._finish(reading)

        reading.open += 1
        self._session.ask(self._client.get_async, path, answered)

    def _finish(self, reading: _Reading) -> None:
        if reading.open:
            return
        self._ledger.say(*self._account(reading))
        self._looked()

    def _account(self, reading: _Reading) -> Iterator[ZooKeeperFact]:
        if reading.parent is not None:
            yield reading.parent
        start = self._ledger.known.next_notification
        spans = [(start, reading.end)] if start is not None else [(n, n + 1) for n in reading.paths]
        for first, end in sorted(spans):
            for run in runs(first, end, reading.found):
                seen = reading.found.get(run.first)
                yield seen if seen is not None else self._missed(run.first, run.number)
        if start is None:
            # The first reading ever: what came and went before it is nobody's miss.
            yield self._missed(reading.end, 0)

    def _missed(self, first: int, number: int) -> NotificationsMissed:
        return NotificationsMissed(self._ledger.clock(), first, number)

    def _looked(self) -> None:
        self._looking = False
        if self._again:
            self.look()
