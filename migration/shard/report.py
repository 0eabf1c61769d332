"""What a shard tells of one batch: all that the cluster-wide image needs, and no replica of it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from migration.comparison.differences import ShardComparison
from migration.metadata.directory_ids import DirectoryId
from migration.shard.pending import Crossing, Movement
from migration.shard.replication import ReplicationChange


class Note(NamedTuple):
    """Something worth an event that only the shard knows of."""

    offset: int
    timestamp_ms: int
    kind: str
    fields: dict[str, str | int]


@dataclass(slots=True)
class ShardReport:
    """What one shard tells of one batch.

    Attributes:
        directories: (broker, directory) -> change of the number of replicas in it.
        assigned_ms: broker -> timestamp of the last assignment of a replica to a directory.
        movements: (offset of the broker's next barrier, broker) -> how its pending moved before.
        crossings: in log order.
        comparisons: with what was read beside the log.
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
