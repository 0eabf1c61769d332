"""Facts about topics in ZooKeeper; part of `migration.observed.facts`.

`ZnodeSeen` (of `/brokers/topics/T`) and `ZkConfigSeen` record the state of a topic. The others
record a change once, when it is found.
"""

from typing import NamedTuple, TypeAlias


class ZkConfigSeen(NamedTuple):
    """A topic's settings below /config; there is one fact for each change.

    Attributes:
        path: absolute, below the chroot (`/config/topics/t`).
        entries: key -> digest of the value, which may be a secret; empty if the znode cannot be
            parsed.
        version: of the data.
        mzxid: the ZooKeeper transaction of the last write.
    """

    seen_ms: int
    path: str
    entries: tuple[tuple[str, bytes], ...]
    version: int
    mzxid: int


class ZkTopicsFound(NamedTuple):
    """All topics were read in one session; the first time, they are not reported as changes."""

    seen_ms: int
    topics: int
    partitions: int


class ZkTopicChanged(NamedTuple):
    """A topic appeared or vanished, or its assignment changed.

    Attributes:
        what: `appeared`, `vanished`, `reassigned`; `unreadable`: it exists and cannot be parsed.
        at_ms: ZooKeeper's time of the change; None for a deleted znode, which has no time.
        topic_id: 22 characters; empty: unknown.
        was: number of partitions before; None: it did not exist, or could not be parsed.
        now: number of partitions now; None: it is deleted, or cannot be parsed.
        moved: number of partitions, existing before and now, that have other replicas.
        named: the first of those: partition, replicas before, replicas now; at most 20.
        why: why it is unreadable; else None.
    """

    seen_ms: int
    what: str
    at_ms: int | None
    topic: str
    topic_id: str
    was: int | None
    now: int | None
    moved: int
    named: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
    why: str | None


class ZkConfigChanged(NamedTuple):
    """A topic's settings changed.

    Attributes:
        at_ms: ZooKeeper's time of the change; None for a deleted znode, which has no time.
        keys: those that were added, removed or changed.
        gone: whether the znode, and with it all settings, was deleted.
        why: why the existing znode cannot be parsed; else None.
    """

    seen_ms: int
    at_ms: int | None
    topic: str
    keys: tuple[str, ...]
    gone: bool
    why: str | None


class ZkStatesChanged(NamedTuple):
    """How often the leader or the ISR of partitions was written: a count, never single writes.

    Attributes:
        since_ms: when the first write was received, by Kraftgate's clock.
        topics: number of their topics; 1000 means 1000 or more.
        named: the first of those, by name; at most 5.
    """

    seen_ms: int
    since_ms: int
    changes: int
    topics: int
    named: tuple[str, ...]


ZkTopicFact: TypeAlias = ZkTopicsFound | ZkTopicChanged | ZkConfigChanged | ZkStatesChanged
"""The number of partitions, and changes; later state depends on them only in that number."""
