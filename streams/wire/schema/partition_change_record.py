"""PartitionChangeRecord (5).

Generated from Kafka 3.9's PartitionChangeRecord.json
by `python -m streams.wire.generate`; do not edit.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.types import BrokerId
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV0:
    """PartitionChangeRecord (5), version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    isr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=None
    )
    """null if the ISR didn't change; the new in-sync replicas otherwise."""
    leader: BrokerId = field(metadata={"kafka_type": "int32", "tag": 1}, default=BrokerId(-2))
    """-1 if there is now no leader; -2 if the leader didn't change; the new leader otherwise."""
    replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    """null if the replicas didn't change; the new replicas otherwise."""
    removing_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 3}, default=None
    )
    """null if the removing replicas didn't change; the new removing replicas otherwise."""
    adding_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 4}, default=None
    )
    """null if the adding replicas didn't change; the new adding replicas otherwise."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 5}, default=i8(-1))
    """-1 if it didn't change; 0 if the leader was elected from the ISR or recovered from an unclean
    election; 1 if the leader that was elected using unclean leader election and it is still
    recovering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV1:
    """PartitionChangeRecord (5), version 1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    isr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=None
    )
    """null if the ISR didn't change; the new in-sync replicas otherwise."""
    leader: BrokerId = field(metadata={"kafka_type": "int32", "tag": 1}, default=BrokerId(-2))
    """-1 if there is now no leader; -2 if the leader didn't change; the new leader otherwise."""
    replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    """null if the replicas didn't change; the new replicas otherwise."""
    removing_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 3}, default=None
    )
    """null if the removing replicas didn't change; the new removing replicas otherwise."""
    adding_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 4}, default=None
    )
    """null if the adding replicas didn't change; the new adding replicas otherwise."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 5}, default=i8(-1))
    """-1 if it didn't change; 0 if the leader was elected from the ISR or recovered from an unclean
    election; 1 if the leader that was elected using unclean leader election and it is still
    recovering."""
    directories: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8}, default=None
    )
    """null if the log dirs didn't change; the new log directory for each replica otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV2:
    """PartitionChangeRecord (5), version 2."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The partition id."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""
    isr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=None
    )
    """null if the ISR didn't change; the new in-sync replicas otherwise."""
    leader: BrokerId = field(metadata={"kafka_type": "int32", "tag": 1}, default=BrokerId(-2))
    """-1 if there is now no leader; -2 if the leader didn't change; the new leader otherwise."""
    replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    """null if the replicas didn't change; the new replicas otherwise."""
    removing_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 3}, default=None
    )
    """null if the removing replicas didn't change; the new removing replicas otherwise."""
    adding_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 4}, default=None
    )
    """null if the adding replicas didn't change; the new adding replicas otherwise."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 5}, default=i8(-1))
    """-1 if it didn't change; 0 if the leader was elected from the ISR or recovered from an unclean
    election; 1 if the leader that was elected using unclean leader election and it is still
    recovering."""
    directories: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8}, default=None
    )
    """null if the log dirs didn't change; the new log directory for each replica otherwise."""
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 6}, default=None
    )
    """null if the ELR didn't change; the new eligible leader replicas otherwise."""
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 7}, default=None
    )
    """null if the LastKnownElr didn't change; the last known eligible leader replicas otherwise."""
