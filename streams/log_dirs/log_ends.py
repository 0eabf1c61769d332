"""Compares the ends of logs over time: a lower end means that acknowledged records are lost.

Pure. Only a leader's answer counts, only with a leader epoch that is not older than the stored one,
and only for the same topic id: a topic that was deleted and created again lost nothing. Retention
and DELETE_RECORDS move a log's start, never its end.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from migration.observed.facts import OffsetsFell
from streams.kafka.broker_values import (
    ClusterView,
    PartitionEnd,
    PartitionOffset,
    PartitionView,
    TopicPartition,
)
from streams.log_dirs.remembered import KnownPartition


class Ends(NamedTuple):
    """The result: facts, and the partitions whose stored state changes."""

    facts: tuple[OffsetsFell, ...]
    changed: Mapping[TopicPartition, KnownPartition]


def leader_ends(
    view: ClusterView, offsets: Iterable[PartitionOffset], broker: int
) -> list[PartitionEnd]:
    """Join a leader's latest offsets with the topic ids; skip those with an error or without an id.

    NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE and OFFSET_NOT_AVAILABLE are such errors: a new
    leader returns the last one until its high watermark has reached its epoch's start.
    """
    found = []
    for each in offsets:
        seen = view.partitions.get((each.topic, each.partition))
        if seen is None or seen.topic_id is None or each.leader_epoch is None or each.error:
            continue
        end = PartitionEnd(
            each.topic, each.partition, seen.topic_id, None, each.offset, each.leader_epoch, broker
        )
        found.append(end)
    return found


def is_suspect(known: KnownPartition | None, end: PartitionEnd) -> bool:
    """Return whether the end must be confirmed: it is lower, or the topic id differs."""
    if known is None or known.end_offset is None:
        return False
    return known.topic_id != end.topic_id or (
        end.end < known.end_offset and end.leader_epoch >= known.leader_epoch
    )


def confirmed(
    before: Iterable[PartitionEnd],
    after: ClusterView,
    starts: Iterable[PartitionOffset],
    ends: Iterable[PartitionOffset],
    broker: int,
) -> list[PartitionEnd]:
    """Return the suspects that a second request confirms with the same topic id.

    Offsets are requested by topic name: only an id that was the same before and after belongs to
    the answers in between.
    """
    ids = {(each.topic, each.partition): each.topic_id for each in before}
    begin = {(each.topic, each.partition): each.offset for each in starts if not each.error}
    found = []
    for each in leader_ends(after, ends, broker):
        key = (each.topic, each.partition)
        if ids.get(key) == each.topic_id and key in begin:
            found.append(each._replace(start=begin[key]))
    return found


def compare_ends(
    known: Callable[[TopicPartition], KnownPartition | None],
    ends: Iterable[PartitionEnd],
    now_ms: int,
) -> Ends:
    """Return facts of ends that fell. The lower end is then stored: each fall is reported once."""
    facts: list[OffsetsFell] = []
    changed: dict[TopicPartition, KnownPartition] = {}
    for end in ends:
        key = (end.topic, end.partition)
        before = changed.get(key) or known(key) or KnownPartition(0)
        now = KnownPartition(
            before.replicas, end.topic_id, end.end, now_ms, end.broker, end.leader_epoch
        )
        if before.topic_id == end.topic_id:
            if end.leader_epoch < before.leader_epoch or before.end_offset is None:
                continue
            if end.end < before.end_offset:
                if end.start is None:
                    continue
                facts.append(_fell(before, end, end.start, now_ms))
            elif end.end == before.end_offset:
                now = now._replace(seen_ms=before.seen_ms)
        if now != before:
            changed[key] = now
    return Ends(tuple(facts), changed)


def count_replicas(
    known: Callable[[TopicPartition], KnownPartition | None], partitions: Iterable[PartitionView]
) -> dict[TopicPartition, KnownPartition]:
    """Return the partitions with a new number of replicas, with that number."""
    changed = {}
    for each in partitions:
        key = (each.topic, each.partition)
        before = known(key)
        if before is None or before.replicas != len(each.replicas):
            changed[key] = (before or KnownPartition(0))._replace(replicas=len(each.replicas))
    return changed


def _fell(before: KnownPartition, end: PartitionEnd, start: int, now_ms: int) -> OffsetsFell:
    return OffsetsFell(
        seen_ms=now_ms,
        topic=end.topic,
        partition=end.partition,
        broker=end.broker,
        was_end=before.end_offset or 0,
        was_seen_ms=before.seen_ms,
        now_start=start,
        now_end=end.end,
    )
