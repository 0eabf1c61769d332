"""The content of directories that were offline at every poll. Pure.

It was never reported, but METADATA lists the partitions that the broker hosts: those that its other
directories do not show are in the offline one, or nowhere, as when the broker refused to create
them (H3). With several such directories it is unknown which one has a replica; the fact then names
them all in place of a path.
"""

from collections.abc import Collection, Iterable, Mapping

from streams.kafka.broker_values import TopicPartition


def name(paths: Iterable[str]) -> str:
    """Return the name of the place that is one of these directories; for one its path."""
    return " or ".join(sorted(paths))


def lying(
    listed: Collection[TopicPartition],
    broker: int,
    hosted: Mapping[TopicPartition, Collection[int]] | None,
) -> set[TopicPartition]:
    """Return the partitions that must be somewhere on the broker's disks.

    Args:
        listed: the partitions that it hosts by METADATA.
        broker: its id.
        hosted: the brokers of each partition some seconds ago: a new replica may not be on any disk
            yet. None: unknown.
    """
    return {each for each in listed if hosted is None or broker in hosted.get(each, ())}
