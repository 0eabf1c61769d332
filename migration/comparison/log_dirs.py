"""Compares one shard with the logs of its topics on the disks."""

from collections.abc import Iterator, Mapping

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
from migration.observed.facts import DiskContentSeen, TopicOnDisk


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
        for partition, broker, path, future, lag in _replicas(topic, seen):
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
    whole = frozenset(seen.whole)
    for topic_id, known in topics.items():
        there = on_disk.get(topic_id, set())
        for partition, replicas in known.partitions.items():
            for broker in replicas.brokers:
                if broker in whole and (partition, broker) not in there:
                    subject = f"{known.name}-{partition}"
                    found[Difference("missing", subject, "absent", "present", broker)] = None
    found.update(dict.fromkeys(_not_looked_at(before.disks.lasting, seen, topics)))
    placed = tuple(
        Placed(broker, path, ids[directory], len(subjects), tuple(sorted(subjects)[:NAMED_MAX]))
        for (broker, path, directory), subjects in sorted(groups.items())
    )
    result, before.disks = confirm(seen, compared, found, before.disks, placed=placed)
    return result


def _not_looked_at(
    lasting: frozenset[Difference], seen: DiskContentSeen, topics: Mapping[bytes, Topic]
) -> Iterator[Difference]:
    """Return the differences that remain until their broker, or directory, can be read again.

    A difference is dropped if the metadata log contradicts it now: before the copy the metadata log
    has no topics, and every log on a disk is unknown to it.
    """
    readable, whole = frozenset(seen.paths), frozenset(seen.whole)
    left = [
        each
        for each in lasting
        if not (
            each.broker in whole if each.kind == "missing" else (each.broker, each.path) in readable
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


def _replicas(
    topic: TopicOnDisk, seen: DiskContentSeen
) -> Iterator[tuple[int, int, str, bool, int]]:
    for partition, path, future, lag in topic.replicas:
        broker, name = seen.paths[path]
        yield partition, broker, name, future, lag
