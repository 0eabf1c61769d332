"""Log directory notifications: each one is read, or counted as missed, exactly once.

The active ZooKeeper controller deletes a notification some 20 ms after its creation. So the parent
is listed immediately on every change, all new notifications are requested together, and the
parent's number of creations (`sequence`) shows how many were deleted before they could be read.

The position of the count is the last emitted one (`Known.next_notification`), in the order of the
numbers; a reading that ends before its facts are emitted is repeated. A separate process reads them
faster (`read_ahead`): before a number counts as missed, that process has caught up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import NotificationsMissed, ZnodeSeen, ZooKeeperFact
from migration.observed.znodes import NOTIFICATIONS
from streams.zookeeper.emitter import Emitter, is_another
from streams.zookeeper.read_ahead import ReadAhead
from streams.zookeeper.sequence import creations, notification_number, notification_path, runs
from streams.zookeeper.session import Session
from streams.zookeeper.tree import await_creation


@dataclass(slots=True)
class _Listing:
    """One listing and the reads that follow from it.

    Attributes:
        end: The parent's creations so far.
        czxid: The transaction that created the parent.
        pzxid: The last one that created or deleted a child.
        paths: By number, the listed notifications that are not accounted for yet.
        open: Number of reads without an answer.
        parent: The parent's znode, if it must be emitted.
        found: By number, the notifications that were read.
        has_caught_up: Whether the separate process was asked to catch up.
    """

    end: int
    czxid: int
    pzxid: int
    paths: dict[int, str]
    open: int = 0
    parent: ZnodeSeen | None = None
    found: dict[int, ZnodeSeen] = field(default_factory=dict)
    has_caught_up: bool = False


class Notifications:
    """Reads the notifications of one session into the `Emitter`."""

    def __init__(self, session: Session, emitter: Emitter, ahead: ReadAhead) -> None:
        """Prepare: `session` sends the requests, `emitter` receives every notification.

        `ahead` has those that the separate process read.
        """
        self._ahead = ahead
        self._session = session
        self._client = session.client
        self._emitter = emitter
        self._is_reading = False
        self._again = False

    def read(self) -> None:
        """List and read new notifications; during a reading, schedule another one after it."""
        if self._is_reading:
            self._again = True
            return
        self._is_reading, self._again = True, False
        self._session.ask(
            self._client.get_children_async,
            NOTIFICATIONS,
            self._listed,
            watch=self._session.watch(NOTIFICATIONS, self.read),
            include_data=True,
        )

    def _listed(self, answer: tuple[list[str], ZnodeStat] | None) -> None:
        known = self._emitter.known
        if answer is None:
            self._parent_gone()
            await_creation(self._session, NOTIFICATIONS, self.read)
            self._reading_ended()
            return
        names, stat = answer
        end = creations(stat.cversion, stat.numChildren)
        if self._is_another(stat, end):
            self._parent_gone()
        there = {f"{NOTIFICATIONS}/{name}" for name in names}
        self._gone(known.below(NOTIFICATIONS) - there)
        start = known.next_notification or 0
        # A znode with a number beyond the count was named by a client, not by ZooKeeper.
        numbered = ((notification_number(path), path) for path in there)
        new = {n: path for n, path in numbered if n is not None and start <= n < end}
        reading = _Listing(end, stat.czxid, stat.pzxid, new)
        self._read_parent(reading, stat)
        for number, path in sorted(new.items()):
            self._read(reading, number, path)
        self._finish(reading)

    def _is_another(self, stat: ZnodeStat, end: int) -> bool:
        last = self._emitter.known.znode(NOTIFICATIONS)
        return (last is not None and is_another(last, stat)) or (
            end < (self._emitter.known.next_notification or 0)
        )

    def _parent_gone(self) -> None:
        """Emit that the parent and its children are gone: the next one's children count from 0."""
        known = self._emitter.known
        if known.znode(NOTIFICATIONS) is not None or known.next_notification != 0:
            self._emitter.remove(*sorted(known.below(NOTIFICATIONS)), NOTIFICATIONS)
            self._emitter.emit(self._missed(0, 0))
            self._ahead.clear()

    def _gone(self, paths: set[str]) -> None:
        """Emit that notifications are gone; the last fact must have the position of the count."""
        known = self._emitter.known
        self._emitter.remove(*sorted(paths))
        end = known.next_notification
        if paths and end is not None and notification_number(max(paths)) != end - 1:
            self._emitter.emit(self._missed(end, 0))

    def _read_parent(self, reading: _Listing, stat: ZnodeStat) -> None:
        last = self._emitter.known.znode(NOTIFICATIONS)
        if last is not None and (last.mzxid, last.version) == (stat.mzxid, stat.version):
            return

        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                reading.parent = self._emitter.znode(NOTIFICATIONS, *found)
            reading.open -= 1
            self._finish(reading)

        reading.open += 1
        self._session.ask(self._client.get_async, NOTIFICATIONS, answered)

    def _read(self, reading: _Listing, number: int, path: str) -> None:
        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                reading.found[number] = self._emitter.znode(path, *found)
            reading.open -= 1
            self._finish(reading)

        reading.open += 1
        self._session.ask(self._client.get_async, path, answered)

    def _finish(self, reading: _Listing) -> None:
        if reading.open:
            return
        ahead = self._take_ahead(reading)
        # The first reading of a session is not delayed: until it ends the view is not complete.
        if self._session.complete and not reading.has_caught_up and self._is_missing(reading):
            reading.has_caught_up = True
            self._ahead.catch_up(lambda: self._session.post(lambda: self._finish(reading)))
            return
        self._emitter.emit(*self._account(reading))
        # No watch reports the end of one that was deleted before the listing.
        self._gone({path for number, path in ahead.items() if number not in reading.paths})
        self._ahead.forget(reading.pzxid)
        self._reading_ended()

    def _take_ahead(self, reading: _Listing) -> dict[int, str]:
        """Add what only the separate process read; return all that it read, by number."""
        taken: dict[int, str] = {}
        for first, end in self._spans(reading):
            for number, data, stat in self._ahead.found(
                first, end, after_zxid=reading.czxid, until_zxid=reading.pzxid
            ):
                taken[number] = notification_path(number)
                seen = self._emitter.znode(taken[number], data, stat)
                reading.found.setdefault(number, seen)
        return taken

    def _is_missing(self, reading: _Listing) -> bool:
        return any(
            not run.read
            for first, end in self._spans(reading)
            for run in runs(first, end, reading.found)
        )

    def _spans(self, reading: _Listing) -> list[tuple[int, int]]:
        """Return the numbers to account for, as first and end; at first only what was listed."""
        start = self._emitter.known.next_notification
        if start is not None:
            return [(start, reading.end)]
        return [(number, number + 1) for number in sorted(reading.paths)]

    def _account(self, reading: _Listing) -> Iterator[ZooKeeperFact]:
        if reading.parent is not None:
            yield reading.parent
        is_first = self._emitter.known.next_notification is None
        for first, end in self._spans(reading):
            for run in runs(first, end, reading.found):
                seen = reading.found.get(run.first)
                yield seen if seen is not None else self._missed(run.first, run.number)
        if is_first:
            # The first reading: notifications deleted before it do not count as missed.
            yield self._missed(reading.end, 0)

    def _missed(self, first: int, number: int) -> NotificationsMissed:
        return NotificationsMissed(self._emitter.clock(), first, number)

    def _reading_ended(self) -> None:
        self._is_reading = False
        if self._again:
            self.read()
