"""Changes between two states of a topic's znode, or of its settings' znode. Pure."""

from collections.abc import Callable
from typing import Final, TypeVar

from kazoo.protocol.states import ZnodeStat

from migration.metadata.directory_ids import to_text
from migration.observed.facts import ZnodeSeen
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkConfigSeen,
    ZkTopicChanged,
    ZkTopicFact,
)
from migration.observed.znode_codec import TopicPayload, topic_of
from migration.observed.znodes import TOPICS, parent
from migration.values.foreign import Unreadable
from streams.zookeeper.config_digests import config_of
from streams.zookeeper.known import Znode

NAMED_MAX: Final = 20
"""The number of a topic's moved partitions that are named; all are counted."""

T = TypeVar("T")


def config_kept(
    path: str, data: bytes | None, stat: ZnodeStat, seen_ms: int
) -> tuple[ZkConfigSeen, str | None]:
    """Return the fact of a topic's settings; without entries, and why, if they cannot be parsed."""
    entries, why = _parsed(config_of, data)
    return ZkConfigSeen(seen_ms, path, entries or (), stat.version, stat.mzxid), why


def change(
    last: Znode | None, now: Znode, why: str | None, stat: ZnodeStat
) -> ZkTopicChanged | ZkConfigChanged | None:
    """Return the change of a topic; None: no change, or the znode is not about topics.

    `last` is the last known state; None: the znode did not exist. `why`: of `config_kept`.
    """
    at_ms = stat.ctime if last is None else stat.mtime
    match now:
        case ZkConfigSeen():
            was = last.entries if isinstance(last, ZkConfigSeen) else ()
            return _settings(now, was, why, at_ms)
        case ZnodeSeen() if parent(now.path) == TOPICS:
            return _topic(last if isinstance(last, ZnodeSeen) else None, now, at_ms)
    return None


def end(last: Znode, now_ms: int) -> ZkTopicFact | None:
    """Return the deletion of a topic, or of its settings; None: there is nothing to report."""
    name = last.path.rpartition("/")[2]
    match last:
        case ZkConfigSeen():
            keys = tuple(key for key, _ in last.entries)
            return ZkConfigChanged(now_ms, None, name, keys, gone=True, why=None) if keys else None
        case ZnodeSeen() if parent(last.path) == TOPICS:
            payload, _ = _parsed(topic_of, last.data)
            return ZkTopicChanged(
                seen_ms=now_ms,
                what="vanished",
                at_ms=None,
                topic=name,
                topic_id=_id(payload),
                was=_partitions(payload),
                now=None,
                moved=0,
                named=(),
                why=None,
            )
    return None


def _settings(
    now: ZkConfigSeen, was: tuple[tuple[str, bytes], ...], why: str | None, at_ms: int
) -> ZkConfigChanged | None:
    name = now.path.rpartition("/")[2]
    if why is not None:
        return ZkConfigChanged(now.seen_ms, at_ms, name, (), gone=False, why=why)
    keys = tuple(sorted({key for key, _ in set(was) ^ set(now.entries)}))
    return ZkConfigChanged(now.seen_ms, at_ms, name, keys, gone=False, why=None) if keys else None


def _topic(last: ZnodeSeen | None, now: ZnodeSeen, at_ms: int) -> ZkTopicChanged | None:
    before, _ = (None, None) if last is None else _parsed(topic_of, last.data)
    after, why = _parsed(topic_of, now.data)
    moved = () if before is None or after is None else _moved(before, after)
    what = "unreadable" if why else "appeared" if last is None else "reassigned"
    if what == "reassigned" and not moved and _partitions(before) == _partitions(after):
        return None
    return ZkTopicChanged(
        seen_ms=now.seen_ms,
        what=what,
        at_ms=at_ms,
        topic=now.path.rpartition("/")[2],
        topic_id=_id(after),
        was=_partitions(before),
        now=_partitions(after),
        moved=len(moved),
        named=moved[:NAMED_MAX],
        why=why,
    )


def partitions_of(znode: ZnodeSeen) -> int:
    """Return the number of a topic's partitions; 0: its znode cannot be parsed."""
    payload, _ = _parsed(topic_of, znode.data)
    return _partitions(payload) or 0


def _parsed(parse: Callable[[bytes | None], T], data: bytes | None) -> tuple[T | None, str | None]:
    try:
        return parse(data), None
    except Unreadable as error:
        return None, str(error)


def _moved(
    before: TopicPayload, after: TopicPayload
) -> tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]:
    return tuple(
        (partition, was, after.replicas[partition])
        for partition, was in before.replicas.items()
        if partition in after.replicas and after.replicas[partition] != was
    )


def _partitions(payload: TopicPayload | None) -> int | None:
    return None if payload is None else len(payload.replicas)


def _id(payload: TopicPayload | None) -> str:
    return "" if payload is None else to_text(payload.topic_id)
