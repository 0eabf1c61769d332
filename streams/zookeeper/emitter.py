"""Emits a fact for each znode that changed since its last fact.

`/migration` is a heartbeat: in dual write the active KRaft controller rewrites it for every batch
of the metadata log, about twice a second; only the offset and the epochs differ then
(KRaftMigrationDriver). Such changes are delayed to the next interval and combined; the source's
status reports them meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import ZnodeGone, ZnodeSeen, ZooKeeperFact
from migration.observed.znode_codec import MIGRATION_OFFSET, MigrationZnode, fields_of
from migration.observed.znodes import CLUSTER_ID, CONTROLLER, MIGRATION, TOPIC_CONFIGS, parent
from migration.observed.zookeeper import migration_znode
from migration.values.foreign import Unreadable
from streams.process.background import REPORT_S, interval_of
from streams.zookeeper import topic_changes
from streams.zookeeper.known import Known, Znode

_HEARTBEAT_FIELDS: Final = frozenset(
    {MIGRATION_OFFSET, "kraft_metadata_epoch", "kraft_controller_epoch"}
)

Clock: TypeAlias = Callable[[], int]
"""Returns Kraftgate's time, ms since the epoch."""
Write: TypeAlias = Callable[[Sequence[ZooKeeperFact]], object]
"""Accepts facts, in the order of the calls; does not block."""


class Heartbeat(NamedTuple):
    """A write of a `/migration` that marks the copy as complete.

    Attributes:
        others: the fields in which a later write must be equal to show only that a controller
            still writes.
    """

    znode: MigrationZnode
    version: int
    mzxid: int
    others: Mapping[str, Any]


class Emitter:
    """Turns readings of znodes into facts: only differences from the last emitted ones.

    Attributes:
        heartbeat: the last write of `/migration`; None: it does not mark the copy as complete.
    """

    def __init__(self, known: Known, write: Write, clock: Clock) -> None:
        """Resume from `known`, the state emitted so far; `write` is called with each fact once."""
        self.known = known
        self.clock = clock
        self.heartbeat: Heartbeat | None = None
        self._write = write
        self._held: ZnodeSeen | None = None
        if isinstance(last := known.kept(MIGRATION), ZnodeSeen):
            self.heartbeat = _heartbeat(last, None)

    def emit(self, *facts: ZooKeeperFact) -> None:
        """Emit facts; those of one call remain together."""
        for fact in facts:
            self.known.take(fact)
        if facts:
            self._write(facts)

    def znode(self, path: str, data: bytes | None, stat: ZnodeStat) -> ZnodeSeen:
        return ZnodeSeen(
            seen_ms=self.clock(),
            path=path,
            data=data or b"",
            version=stat.version,
            mzxid=stat.mzxid,
            mtime_ms=stat.mtime,
            session=stat.ephemeralOwner,
        )

    def update(self, path: str, data: bytes | None, stat: ZnodeStat) -> None:
        """Emit a znode if it differs; if it was created again, first the end of the last one.

        Raises:
            AnotherCluster: it is a `/cluster/id` with another id; the last one remains known.
        """
        if path == CLUSTER_ID:
            self.known.require_cluster(data)
        last, (now, why) = self.known.kept(path), self._to_keep(path, data, stat)
        ended: list[ZooKeeperFact] = []
        if last is not None and is_another(last, stat):
            ended, last = _end(last, now.seen_ms), None
        elif last is not None and last[1:5] == now[1:5]:
            return  # all but the times are the same; a delayed heartbeat has one of its own
        if isinstance(now, ZnodeSeen) and path == MIGRATION:
            was = None if last is None else self.heartbeat
            beat = _heartbeat(now, was)
            is_beat = was is not None and beat is not None and was.others == beat.others
            if not is_beat:  # the content before a change may have to be restored
                self.flush()
            self.heartbeat = beat  # assigned once: another thread reports it
            if is_beat:
                self._held = now
                self.tick()
                return
        elif path == CONTROLLER:  # it found the latest /migration when it took over
            self.flush()
        change = topic_changes.change(last, now, why, stat)
        # Topics of the first reading are not changes, unless they cannot be parsed.
        is_news = change is not None and (last or change.why or self.known.topics_found)
        self.emit(*ended, now, *([change] if change is not None and is_news else []))

    def remove(self, *paths: str) -> None:
        """Emit that znodes no longer exist, if they were emitted."""
        if MIGRATION in paths:
            self.flush()
            self.heartbeat = None
        now = self.clock()
        known = [last for path in paths if (last := self.known.kept(path)) is not None]
        self.emit(*(fact for last in known for fact in _end(last, now)))

    def _to_keep(self, path: str, data: bytes | None, stat: ZnodeStat) -> tuple[Znode, str | None]:
        """Return the fact to emit: for settings only digests, as they may be secrets.

        With digests, also why the settings cannot be parsed.
        """
        if parent(path) == TOPIC_CONFIGS:
            return topic_changes.config_kept(path, data, stat, self.clock())
        return self.znode(path, data, stat), None

    def tick(self) -> None:
        """Emit the delayed heartbeat, if its delay is over."""
        if self._held is not None:
            last = self.known.znode(MIGRATION)
            if last is None or not self._is_recent(last):
                self.flush()

    def flush(self) -> None:
        """Emit the delayed heartbeat."""
        held, self._held = self._held, None
        if held is not None:
            # By the time of its reading, not of this fact: ZooKeeper's clock may differ.
            beat = self.heartbeat
            written_ms = held.seen_ms if beat is None else beat.znode.written_ms
            self.emit(held._replace(seen_ms=self.clock(), mtime_ms=written_ms))

    def _is_recent(self, last: ZnodeSeen) -> bool:
        now, then = (interval_of(each, REPORT_S) for each in (self.clock(), last.seen_ms))
        return now == then


def _end(last: Znode, now_ms: int) -> list[ZooKeeperFact]:
    change = topic_changes.end(last, now_ms)
    return [ZnodeGone(now_ms, last.path), *([] if change is None else [change])]


def is_another(last: Znode, stat: ZnodeStat) -> bool:
    """Return whether the znode at this path was created again since it was emitted.

    A znode is created before it is modified: one created after the last known modification is
    another one. One modified before that is in a ZooKeeper that lost its data.
    """
    return bool(stat.czxid > last.mzxid or stat.mzxid < last.mzxid)


def _heartbeat(now: ZnodeSeen, was: Heartbeat | None) -> Heartbeat | None:
    """Return the write of `/migration`; `was`: the last one of the same znode.

    None: it does not mark the copy as complete, or cannot be parsed; its fact is not delayed.
    """
    try:
        znode = migration_znode(now, was and was.znode)
    except Unreadable:
        return None  # the fact reports it
    if not znode.is_copied:
        return None
    others = {
        name: value
        for name, value in fields_of(now.data).items()
        if name not in _HEARTBEAT_FIELDS or not isinstance(value, int)
    }
    beat = Heartbeat(znode, now.version, now.mzxid, others)
    if was is not None and was.znode.text == znode.text and was[1:] == beat[1:]:
        return was  # the same write, read again later
    return beat
