"""A shard's report of one batch: what the cluster-wide image needs, without single replicas."""

from dataclasses import dataclass, field
from typing import NamedTuple

from migration.comparison.differences import ShardComparison
from migration.metadata.directory_ids import DirectoryId
from migration.shard.pending import Crossing, Movement
from migration.shard.replication import ReplicationChange


class Note(NamedTuple):
    """An event that only the shard can detect."""

    offset: int
    timestamp_ms: int
    kind: str
    fields: dict[str, str | int]


@dataclass(slots=True)
class ShardReport:
    """What one shard reports of one batch.

    Attributes:
        directories: (broker, directory) -> change of the number of replicas in it.
        assigned_ms: broker -> timestamp of the last assignment of a replica to a directory.
        movements: (offset of the broker's next barrier, broker) -> change of its pending before it.
        crossings: in log order.
        comparisons: with the other sources.
    """

    topics: int = 0
    partitions: int = 0
    directories: dict[tuple[int, DirectoryId], int] = field(default_factory=dict)
    assigned_ms: dict[int, int] = field(default_factory=dict)
    movements: dict[tuple[int, int], Movement] = field(default_factory=dict)
    crossings: list[Crossing] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    comparisons: list[ShardComparison] = field(default_factory=list)
    replication: ReplicationChange = field(default_factory=ReplicationChange)
