"""What is seen of topics in ZooKeeper: the facts of `migration.observed.facts` about them.

How they stand is kept by `ZnodeSeen` (of `/brokers/topics/T`) and `ZkConfigSeen`; what happened to
them is told once, by the others, when it is found.
"""

from typing import NamedTuple, TypeAlias


class ZkConfigSeen(NamedTuple):
    """A topic's settings below /config, whenever they differ from what was seen before.

    Attributes:
        path: absolute, below the chroot (`/config/topics/t`).
        entries: key -> digest of the value, which may be a secret; none when it says nothing.
        version: of the data.
        mzxid: the ZooKeeper transaction that wrote it last.
    """

    seen_ms: int
    path: str
    entries: tuple[tuple[str, bytes], ...]
    version: int
    mzxid: int


class ZkTopicsFound(NamedTuple):
    """All topics were read for the first time: those that there are now are no news."""

    seen_ms: int
    topics: int
    partitions: int


class ZkTopicChanged(NamedTuple):
    """A topic appeared, vanished, or is assigned otherwise than it was last seen to be.

    Attributes:
        what: `appeared`, `vanished`, `reassigned`; `unreadable`: it is there and says nothing.
        at_ms: ZooKeeper's time of it; None: of a znode that is gone it tells none.
        topic_id: 22 characters; empty when it is not known.
        was: how many partitions it had; None: it was not there, or said nothing.
        now: how many it has; None: it is gone, or says nothing.
        moved: how many of those that it had and has are on other replicas.
        named: the first of those: partition, replicas before, replicas now; at most 20.
        why: of what is unreadable; else None.
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
    """A topic's settings are others than they were last seen to be.

    Attributes:
        at_ms: ZooKeeper's time of it; None: of a znode that is gone it tells none.
        keys: whose values came, went or changed.
        gone: whether all went, with their znode.
        why: it is there and says nothing; else None.
    """

    seen_ms: int
    at_ms: int | None
    topic: str
    keys: tuple[str, ...]
    gone: bool
    why: str | None


class ZkStatesChanged(NamedTuple):
    """How often the leader or the ISR of partitions was written: counted, never told singly.

    Attributes:
        since_ms: when the first of them was heard of, Kraftgate's clock.
        topics: of how many topics they are; 1000 stands for as many or more.
        named: the first of those, by name; at most 5.
    """

    seen_ms: int
    since_ms: int
    changes: int
    topics: int
    named: tuple[str, ...]


ZkTopicFact: TypeAlias = ZkTopicsFound | ZkTopicChanged | ZkConfigChanged | ZkStatesChanged
"""What happened; nothing follows from it once it was told."""
