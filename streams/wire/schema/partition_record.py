"""PartitionRecord (3).

Generated from Kafka 3.9's PartitionRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.types import BrokerId
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV0:
    """PartitionRecord (3), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(3)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas of this partition, sorted by preferred order."""
    isr: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})
    """The in-sync replicas of this partition"""
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of removing."""
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of adding."""
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    """The lead replica, or -1 if there is no leader."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """1 if the partition is recovering from an unclean leader election; 0 otherwise."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The epoch of the partition leader."""
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """An epoch that gets incremented each time we change anything in the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV1:
    """PartitionRecord (3), version 1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(3)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas of this partition, sorted by preferred order."""
    isr: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})
    """The in-sync replicas of this partition"""
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of removing."""
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of adding."""
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    """The lead replica, or -1 if there is no leader."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """1 if the partition is recovering from an unclean leader election; 0 otherwise."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The epoch of the partition leader."""
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """An epoch that gets incremented each time we change anything in the partition."""
    directories: tuple[uuid.UUID | None, ...] = field(metadata={"kafka_type": "uuid"})
    """The log directory hosting each replica, sorted in the same exact order as the Replicas
    field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV2:
    """PartitionRecord (3), version 2."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(3)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas of this partition, sorted by preferred order."""
    isr: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})
    """The in-sync replicas of this partition"""
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of removing."""
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas that we are in the process of adding."""
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    """The lead replica, or -1 if there is no leader."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """1 if the partition is recovering from an unclean leader election; 0 otherwise."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The epoch of the partition leader."""
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """An epoch that gets incremented each time we change anything in the partition."""
    directories: tuple[uuid.UUID | None, ...] = field(metadata={"kafka_type": "uuid"})
    """The log directory hosting each replica, sorted in the same exact order as the Replicas
    field."""
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 1}, default=None
    )
    """The eligible leader replicas of this partition."""
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    """The last known eligible leader replicas of this partition."""
