"""Compares one shard with the logs of its topics on the disks."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from migration.comparison.differences import (
    NAMED_MAX,
    Comparisons,
    Difference,
    Found,
    Placed,
    ShardComparison,
    Topic,
    confirm,
)
from migration.metadata.partitions import Numbers
from migration.observed.facts import DiskContentSeen


def against_disks(
    topics: Mapping[bytes, Topic],
    numbers: Numbers,
    before: Comparisons,
    seen: DiskContentSeen,
) -> ShardComparison:
    """Compare a shard with the logs of its topics on the disks, and update `before`.

    `placed` shows a replica that is not in its assigned directory: only the whole cluster's data
    shows which path is which directory.
    """
    ids = numbers.ids()
    found: Found = {}
    groups: dict[tuple[int, str, int], list[str]] = {}
    on_disk: dict[bytes, set[tuple[int, int]]] = {}
    compared = 0
    for topic in seen.topics:
        logged = topics.get(topic.topic_id)
        there = on_disk.setdefault(topic.topic_id, set())
        for partition, place, future, lag in topic.replicas:
            broker, path = seen.paths[place]
            subject = f"{topic.name}-{partition}"
            replicas = None if logged is None else logged.partitions.get(partition)
            if replicas is None or broker not in replicas.brokers:
                found[Difference("stray", subject, "present", "absent", broker, path)] = None
            elif future:
                if lag == 0:
                    found[Difference("future", subject, "caught up", "", broker, path)] = None
            else:
                compared += 1
                there.add((partition, broker))
                directory = replicas.directories[replicas.brokers.index(broker)]
                groups.setdefault((broker, path, directory), []).append(subject)
    found.update(dict.fromkeys(_missing(topics, on_disk, seen)))
    found.update(dict.fromkeys(_not_looked_at(before.disks.lasting, seen, topics)))
    placed = tuple(
        Placed(broker, path, ids[directory], len(subjects), tuple(sorted(subjects)[:NAMED_MAX]))
        for (broker, path, directory), subjects in sorted(groups.items())
    )
    result, before.disks = confirm(seen, compared, found, before.disks, placed=placed)
    names = frozenset(seen.without_id)
    stray = (each.topic for each in before.disks.lasting if each.kind == "stray")
    return replace(
        result,
        unlisted=tuple(sorted(each.name for each in topics.values() if each.name in names)),
        without_id=Counter(each for each in stray if each in names),
    )


def _missing(
    topics: Mapping[bytes, Topic],
    on_disk: Mapping[bytes, Collection[tuple[int, int]]],
    seen: DiskContentSeen,
) -> Iterator[Difference]:
    """Return the replicas that are in no directory, as far as their logs can be compared.

    The logs of a topic without an id are in the shard of its name.
    """
    whole, without_id = frozenset(seen.whole), frozenset(seen.without_id)
    for topic_id, topic in topics.items():
        if topic.name in without_id:
            continue
        there = on_disk.get(topic_id, ())
        for partition, replicas in topic.partitions.items():
            for broker in replicas.brokers:
                if broker in whole and (partition, broker) not in there:
                    subject = f"{topic.name}-{partition}"
                    yield Difference("missing", subject, "absent", "present", broker)


def _not_looked_at(
    lasting: frozenset[Difference], seen: DiskContentSeen, topics: Mapping[bytes, Topic]
) -> Iterator[Difference]:
    """Return the differences that remain until their subject can be read again.

    The subject is a broker, a directory, or a topic: the logs of a topic without an id are not
    compared. A directory that a fully described broker does not name is no longer a log directory.

    A difference is dropped if the metadata log contradicts it now: before the copy the metadata log
    has no topics, and every log on a disk is unknown to it.
    """
    readable, whole = frozenset(seen.paths), frozenset(seen.whole)
    without_id = frozenset(seen.without_id)
    left = [
        each
        for each in lasting
        if not (
            each.broker in whole and each.topic not in without_id
            if each.kind == "missing"
            else (each.broker, each.path) in readable or each.broker in whole
        )
    ]
    if not left:
        return
    hosted = {
        (f"{topic.name}-{partition}", broker)
        for topic in topics.values()
        for partition, replicas in topic.partitions.items()
        for broker in replicas.brokers
    }
    for each in left:
        if ((each.subject, each.broker) in hosted) is (each.kind != "stray"):
            yield each
