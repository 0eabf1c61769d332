"""`Ledger`: the emitted facts, and so which facts to emit when a znode is read again."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import NotificationsMissed, ZnodeGone, ZnodeSeen, ZooKeeperFact
from migration.observed.znodes import MIGRATION, TOPIC_CONFIGS, parent
from streams.zookeeper import topic_changes
from streams.zookeeper.beacon import COALESCE_MS, is_beat
from streams.zookeeper.known import Known, Znode
from streams.zookeeper.sequence import notification_number

Clock: TypeAlias = Callable[[], int]
"""Returns Kraftgate's time, ms since the epoch."""


class Write(Protocol):
    """Accepts facts, in the order of the calls; does not block."""

    def __call__(self, facts: Sequence[ZooKeeperFact], /) -> object:
        """Accept the facts."""


class Ledger:
    """Turns readings of znodes into facts: only differences from the last emitted ones."""

    def __init__(self, known: Known, write: Write, clock: Clock) -> None:
        """Resume from a state.

        Args:
            known: The state emitted so far; `Ledger` updates it.
            write: Called with each fact once.
            clock: Dates the facts.
        """
        self.known = known
        self.clock = clock
        self.notifications_seen = 0
        self.notifications_missed = 0
        self._write = write
        self._held: ZnodeSeen | None = None

    def say(self, *facts: ZooKeeperFact) -> None:
        """Emit facts; those of one call remain together."""
        for fact in facts:
            self.known.take(fact)
            match fact:
                case ZnodeSeen() if notification_number(fact.path) is not None:
                    self.notifications_seen += 1
                case NotificationsMissed():
                    self.notifications_missed += fact.number
                case _:
                    pass
        if facts:
            self._write(facts)

    def znode(self, path: str, data: bytes | None, stat: ZnodeStat) -> ZnodeSeen:
        """Return the fact of a znode that was read."""
        return ZnodeSeen(
            seen_ms=self.clock(),
            path=path,
            data=data or b"",
            version=stat.version,
            mzxid=stat.mzxid,
            mtime_ms=stat.mtime,
            session=stat.ephemeralOwner,
        )

    def found(self, path: str, data: bytes | None, stat: ZnodeStat) -> None:
        """Emit a znode if it differs; if it was created again, first the end of the last one."""
        last, now = self.known.kept(path), self._to_keep(path, data, stat)
        if path == MIGRATION:
            self._held = None
        ended: list[ZooKeeperFact] = []
        if last is not None and is_another(last, stat):
            ended, last = _end(last, now.seen_ms), None
        elif last is not None and (last.mzxid, last.version) == (now.mzxid, now.version):
            return
        elif isinstance(now, ZnodeSeen) and self._may_wait(last, now):
            self._held = now
            return
        told = topic_changes.change(last, now, data, stat)
        # Topics of the first reading are not changes, unless they cannot be parsed.
        is_news = told is not None and (last or told.why or self.known.topics_found)
        self.say(*ended, now, *([told] if told is not None and is_news else []))

    def gone(self, *paths: str) -> None:
        """Emit that znodes no longer exist, if they were emitted."""
        now = self.clock()
        if MIGRATION in paths:
            self._held = None
        known = [last for path in paths if (last := self.known.kept(path)) is not None]
        self.say(*(fact for last in known for fact in _end(last, now)))

    def _to_keep(self, path: str, data: bytes | None, stat: ZnodeStat) -> Znode:
        """Return the fact to emit: for settings only digests, as they may be secrets."""
        if parent(path) == TOPIC_CONFIGS:
            return topic_changes.config_kept(path, data, stat, self.clock())
        return self.znode(path, data, stat)

    def tick(self) -> None:
        """Emit the delayed beat, if its delay is over."""
        last = self.known.znode(MIGRATION)
        if self._held is not None and not self._may_wait(last, self._held):
            self.flush()

    def flush(self) -> None:
        """Emit the delayed beat."""
        held, self._held = self._held, None
        if held is not None:
            self.say(held._replace(seen_ms=self.clock()))

    def _may_wait(self, last: Znode | None, now: ZnodeSeen) -> bool:
        return (
            isinstance(last, ZnodeSeen)
            and last.path == MIGRATION
            and 0 <= self.clock() - last.seen_ms < COALESCE_MS
            and is_beat(last.data, now.data)
        )


def _end(last: Znode, now_ms: int) -> list[ZooKeeperFact]:
    told = topic_changes.end(last, now_ms)
    return [ZnodeGone(now_ms, last.path), *([] if told is None else [told])]


def is_another(last: Znode, stat: ZnodeStat) -> bool:
    """Return whether the znode at this path was created again since it was emitted.

    A znode is created before it is modified: one created after the last known modification is
    another one. One modified before that is in a ZooKeeper that lost its data.
    """
    return bool(stat.czxid > last.mzxid or stat.mzxid < last.mzxid)
