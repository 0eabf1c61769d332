"""What lies in directories that were offline whenever they were looked at. Pure.

Nobody saw it, but METADATA says what the broker hosts: what its other directories do not show lies
in the one that is offline, or nowhere, as when the broker refused to create it (H3). Of several
directories it cannot be said which one; the fact then names them all in place of a path.
"""

from collections.abc import Collection, Iterable, Mapping

from streams.kafka.broker_values import TopicPartition


def name(paths: Iterable[str]) -> str:
    """What to call the place that is one of these directories; the path when there is one only."""
    return " or ".join(sorted(paths))


def lying(
    listed: Collection[TopicPartition],
    broker: int,
    hosted: Mapping[TopicPartition, Collection[int]] | None,
) -> set[TopicPartition]:
    """What must lie on the broker's disks somewhere.

    Args:
        listed: what it hosts by METADATA.
        broker: its id.
        hosted: who had replicas of what some seconds ago: a replica that is new may not lie
            anywhere yet. None: not known.
    """
    return {each for each in listed if hosted is None or broker in hosted.get(each, ())}
