"""The metadata record types of Kafka 3.9, a class for each version.

Generated from the schemas in Kafka's jar by `python -m tests.support.record_schemas`; do not edit.
A version that only adds fields at the end inherits those of the previous one. The jar has Kafka's
descriptions of the fields.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import f64, i8, i16, i32, i64, u16


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """The value of a data record of the metadata log."""

    __type__: ClassVar = EntityType.data
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16]
    __version__: ClassVar[i16]


class _Nested:
    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __flexible__: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV0(_Nested):
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: u16 = field(metadata={"kafka_type": "uint16"})
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV0(_Nested):
    name: str = field(metadata={"kafka_type": "string"})
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    end_points: tuple[BrokerEndpointV0, ...]
    features: tuple[BrokerFeatureV0, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV1(RegisterBrokerRecordV0):
    __version__: ClassVar[i16] = i16(1)
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV2(MetadataRecord):
    __version__: ClassVar[i16] = i16(2)
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool"}, default=False)
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    end_points: tuple[BrokerEndpointV0, ...]
    features: tuple[BrokerFeatureV0, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV3(RegisterBrokerRecordV2):
    __version__: ClassVar[i16] = i16(3)
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(1)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(2)
    name: TopicName = field(metadata={"kafka_type": "string"})
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(3)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    isr: tuple[i32, ...] = field(metadata={"kafka_type": "int32"})
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    leader: BrokerId = field(metadata={"kafka_type": "int32"}, default=BrokerId(-1))
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV1(PartitionRecordV0):
    __version__: ClassVar[i16] = i16(1)
    directories: tuple[uuid.UUID | None, ...] = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV2(PartitionRecordV1):
    __version__: ClassVar[i16] = i16(2)
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 1}, default=None
    )
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(4)
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(5)
    partition_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    isr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 0}, default=None
    )
    leader: BrokerId = field(metadata={"kafka_type": "int32", "tag": 1}, default=BrokerId(-2))
    replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    removing_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 3}, default=None
    )
    adding_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 4}, default=None
    )
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8", "tag": 5}, default=i8(-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV1(PartitionChangeRecordV0):
    __version__: ClassVar[i16] = i16(1)
    directories: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8}, default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV2(PartitionChangeRecordV1):
    __version__: ClassVar[i16] = i16(2)
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 6}, default=None
    )
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 7}, default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(7)
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    epoch: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(8)
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    epoch: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(9)
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(10)
    owner: str = field(metadata={"kafka_type": "string"})
    requester: str = field(metadata={"kafka_type": "string"})
    renewers: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    issue_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    max_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    expiration_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    token_id: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(11)
    name: str = field(metadata={"kafka_type": "string"})
    mechanism: i8 = field(metadata={"kafka_type": "int8"})
    salt: bytes = field(metadata={"kafka_type": "bytes"})
    stored_key: bytes = field(metadata={"kafka_type": "bytes"})
    server_key: bytes = field(metadata={"kafka_type": "bytes"})
    iterations: i32 = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(12)
    name: str = field(metadata={"kafka_type": "string"})
    feature_level: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDataV0(_Nested):
    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(14)
    entity: tuple[EntityDataV0, ...]
    key: str = field(metadata={"kafka_type": "string"})
    value: f64 = field(metadata={"kafka_type": "float64"})
    remove: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(15)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    next_producer_id: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(17)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV1(BrokerRegistrationChangeRecordV0):
    __version__: ClassVar[i16] = i16(1)
    in_controlled_shutdown: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV2(BrokerRegistrationChangeRecordV1):
    __version__: ClassVar[i16] = i16(2)
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 2}, default=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(18)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: i8 = field(metadata={"kafka_type": "int8"})
    permission_type: i8 = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(19)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(21)
    zk_migration_state: i8 = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(22)
    name: str = field(metadata={"kafka_type": "string"})
    mechanism: i8 = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(23)
    name: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(25)
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(26)
    token_id: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpointV0(_Nested):
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: u16 = field(metadata={"kafka_type": "uint16"})
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFeatureV0(_Nested):
    name: str = field(metadata={"kafka_type": "string"})
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecordV0(MetadataRecord):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(27)
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    end_points: tuple[ControllerEndpointV0, ...]
    features: tuple[ControllerFeatureV0, ...]


RECORDS: Final[Mapping[tuple[int, int], type[MetadataRecord]]] = {
    (each.__api_key__, each.__version__): each
    for each in tuple(globals().values())
    if isinstance(each, type) and issubclass(each, MetadataRecord) and each is not MetadataRecord
}
"""Every record class by (api key, version)."""
