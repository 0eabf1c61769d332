"""The metadata record types of Kafka 3.9, a class for each version.

Generated from the schemas in Kafka's jar by `python -m tests.support.record_schemas`; do not edit.
A version that only adds fields at the end inherits those of the previous one. The jar has Kafka's
descriptions of the fields.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeVar, dataclass_transform

from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import f64, i8, i16, i32, i64, u16

T = TypeVar("T", bound="MetadataRecord")


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


RECORDS: Final[dict[tuple[int, int], type[MetadataRecord]]] = {}
"""Every record class by (api key, version)."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def _record(api_key: int, version: int) -> Callable[[type[T]], type[T]]:
    def make(kind: type[T]) -> type[T]:
        kind.__api_key__, kind.__version__ = i16(api_key), i16(version)
        made = dataclass(frozen=True, slots=True, kw_only=True)(kind)
        RECORDS[api_key, version] = made
        return made

    return make


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


@_record(0, 0)
class RegisterBrokerRecordV0(MetadataRecord):
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    end_points: tuple[BrokerEndpointV0, ...]
    features: tuple[BrokerFeatureV0, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)


@_record(0, 1)
class RegisterBrokerRecordV1(RegisterBrokerRecordV0):
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)


@_record(0, 2)
class RegisterBrokerRecordV2(MetadataRecord):
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool"}, default=False)
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    end_points: tuple[BrokerEndpointV0, ...]
    features: tuple[BrokerFeatureV0, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)


@_record(0, 3)
class RegisterBrokerRecordV3(RegisterBrokerRecordV2):
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 0}, default=()
    )


@_record(1, 0)
class UnregisterBrokerRecordV0(MetadataRecord):
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})


@_record(2, 0)
class TopicRecordV0(MetadataRecord):
    name: TopicName = field(metadata={"kafka_type": "string"})
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@_record(3, 0)
class PartitionRecordV0(MetadataRecord):
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


@_record(3, 1)
class PartitionRecordV1(PartitionRecordV0):
    directories: tuple[uuid.UUID | None, ...] = field(metadata={"kafka_type": "uuid"})


@_record(3, 2)
class PartitionRecordV2(PartitionRecordV1):
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 1}, default=None
    )
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )


@_record(4, 0)
class ConfigRecordV0(MetadataRecord):
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@_record(5, 0)
class PartitionChangeRecordV0(MetadataRecord):
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


@_record(5, 1)
class PartitionChangeRecordV1(PartitionChangeRecordV0):
    directories: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8}, default=None
    )


@_record(5, 2)
class PartitionChangeRecordV2(PartitionChangeRecordV1):
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 6}, default=None
    )
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 7}, default=None
    )


@_record(7, 0)
class FenceBrokerRecordV0(MetadataRecord):
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    epoch: i64 = field(metadata={"kafka_type": "int64"})


@_record(8, 0)
class UnfenceBrokerRecordV0(MetadataRecord):
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    epoch: i64 = field(metadata={"kafka_type": "int64"})


@_record(9, 0)
class RemoveTopicRecordV0(MetadataRecord):
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@_record(10, 0)
class DelegationTokenRecordV0(MetadataRecord):
    owner: str = field(metadata={"kafka_type": "string"})
    requester: str = field(metadata={"kafka_type": "string"})
    renewers: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    issue_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    max_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    expiration_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    token_id: str = field(metadata={"kafka_type": "string"})


@_record(11, 0)
class UserScramCredentialRecordV0(MetadataRecord):
    name: str = field(metadata={"kafka_type": "string"})
    mechanism: i8 = field(metadata={"kafka_type": "int8"})
    salt: bytes = field(metadata={"kafka_type": "bytes"})
    stored_key: bytes = field(metadata={"kafka_type": "bytes"})
    server_key: bytes = field(metadata={"kafka_type": "bytes"})
    iterations: i32 = field(metadata={"kafka_type": "int32"})


@_record(12, 0)
class FeatureLevelRecordV0(MetadataRecord):
    name: str = field(metadata={"kafka_type": "string"})
    feature_level: i16 = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDataV0(_Nested):
    entity_type: str = field(metadata={"kafka_type": "string"})
    entity_name: str | None = field(metadata={"kafka_type": "string"})


@_record(14, 0)
class ClientQuotaRecordV0(MetadataRecord):
    entity: tuple[EntityDataV0, ...]
    key: str = field(metadata={"kafka_type": "string"})
    value: f64 = field(metadata={"kafka_type": "float64"})
    remove: bool = field(metadata={"kafka_type": "bool"})


@_record(15, 0)
class ProducerIdsRecordV0(MetadataRecord):
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    next_producer_id: i64 = field(metadata={"kafka_type": "int64"})


@_record(17, 0)
class BrokerRegistrationChangeRecordV0(MetadataRecord):
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))


@_record(17, 1)
class BrokerRegistrationChangeRecordV1(BrokerRegistrationChangeRecordV0):
    in_controlled_shutdown: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(0))


@_record(17, 2)
class BrokerRegistrationChangeRecordV2(BrokerRegistrationChangeRecordV1):
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 2}, default=()
    )


@_record(18, 0)
class AccessControlEntryRecordV0(MetadataRecord):
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    principal: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    operation: i8 = field(metadata={"kafka_type": "int8"})
    permission_type: i8 = field(metadata={"kafka_type": "int8"})


@_record(19, 0)
class RemoveAccessControlEntryRecordV0(MetadataRecord):
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})


@_record(20, 0)
class NoOpRecordV0(MetadataRecord):
    pass


@_record(21, 0)
class ZkMigrationStateRecordV0(MetadataRecord):
    zk_migration_state: i8 = field(metadata={"kafka_type": "int8"})


@_record(22, 0)
class RemoveUserScramCredentialRecordV0(MetadataRecord):
    name: str = field(metadata={"kafka_type": "string"})
    mechanism: i8 = field(metadata={"kafka_type": "int8"})


@_record(23, 0)
class BeginTransactionRecordV0(MetadataRecord):
    name: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@_record(24, 0)
class EndTransactionRecordV0(MetadataRecord):
    pass


@_record(25, 0)
class AbortTransactionRecordV0(MetadataRecord):
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@_record(26, 0)
class RemoveDelegationTokenRecordV0(MetadataRecord):
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


@_record(27, 0)
class RegisterControllerRecordV0(MetadataRecord):
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    end_points: tuple[ControllerEndpointV0, ...]
    features: tuple[ControllerFeatureV0, ...]
