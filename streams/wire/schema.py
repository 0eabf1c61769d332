"""The metadata record types of Kafka 3.9, a class for each version.

Generated from the schemas in Kafka's jar by `python -m tests.support.record_schemas`; do not edit.
A version that only adds fields at the end inherits those of the previous one. The description of a
field is with the first version that has it.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias, get_args

from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import f64, i8, i16, i32, i64, u16


class _Record:
    __slots__ = ()
    __type__: ClassVar = EntityType.data
    __flexible__: ClassVar[bool] = True


class _Nested:
    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __flexible__: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpointV0(_Nested):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeatureV0(_Nested):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(0)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the broker process"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    end_points: tuple[BrokerEndpointV0, ...]
    """The endpoints that can be used to communicate with this broker."""
    features: tuple[BrokerFeatureV0, ...]
    """The features on this broker"""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """The broker rack."""
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    """True if the broker is fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV1(RegisterBrokerRecordV0):
    __version__: ClassVar[i16] = i16(1)
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is in controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecordV2(_Record):
    __version__: ClassVar[i16] = i16(2)
    __api_key__: ClassVar[i16] = i16(0)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """True if the broker is a ZK broker in migration mode. Otherwise, false"""
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
    """Log directories configured in this broker which are available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(1)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(2)
    name: TopicName = field(metadata={"kafka_type": "string"})
    """The topic name."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
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
class PartitionRecordV1(PartitionRecordV0):
    __version__: ClassVar[i16] = i16(1)
    directories: tuple[uuid.UUID | None, ...] = field(metadata={"kafka_type": "uuid"})
    """The log directory hosting each replica, sorted in the same exact order as the Replicas
    field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecordV2(PartitionRecordV1):
    __version__: ClassVar[i16] = i16(2)
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 1}, default=None
    )
    """The eligible leader replicas of this partition."""
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    """The last known eligible leader replicas of this partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(4)
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    """The type of resource this configuration applies to."""
    resource_name: str = field(metadata={"kafka_type": "string"})
    """The name of the resource this configuration applies to."""
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the configuration key."""
    value: str | None = field(metadata={"kafka_type": "string"})
    """The value of the configuration, or null if the it should be deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
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
class PartitionChangeRecordV1(PartitionChangeRecordV0):
    __version__: ClassVar[i16] = i16(1)
    directories: tuple[uuid.UUID | None, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8}, default=None
    )
    """null if the log dirs didn't change; the new log directory for each replica otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecordV2(PartitionChangeRecordV1):
    __version__: ClassVar[i16] = i16(2)
    eligible_leader_replicas: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 6}, default=None
    )
    """null if the ELR didn't change; the new eligible leader replicas otherwise."""
    last_known_elr: tuple[BrokerId, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 7}, default=None
    )
    """null if the LastKnownElr didn't change; the last known eligible leader replicas otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(7)
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker ID to fence. It will be removed from all ISRs."""
    epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The epoch of the broker to fence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(8)
    id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker ID to unfence."""
    epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The epoch of the broker to unfence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(9)
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The topic to remove. All associated partitions will be removed as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(10)
    owner: str = field(metadata={"kafka_type": "string"})
    """The delegation token owner."""
    requester: str = field(metadata={"kafka_type": "string"})
    """The delegation token requester."""
    renewers: tuple[str, ...] = field(metadata={"kafka_type": "string"})
    """The principals which can renew this token."""
    issue_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The time at which this timestamp was issued."""
    max_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The time at which this token cannot be renewed any more."""
    expiration_timestamp: i64 = field(metadata={"kafka_type": "int64"})
    """The next time at which this token must be renewed."""
    token_id: str = field(metadata={"kafka_type": "string"})
    """The token id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(11)
    name: str = field(metadata={"kafka_type": "string"})
    """The user name."""
    mechanism: i8 = field(metadata={"kafka_type": "int8"})
    """The SCRAM mechanism."""
    salt: bytes = field(metadata={"kafka_type": "bytes"})
    """A random salt generated by the client."""
    stored_key: bytes = field(metadata={"kafka_type": "bytes"})
    """The key the Server uses to authenticate the Client."""
    server_key: bytes = field(metadata={"kafka_type": "bytes"})
    """The key the Client uses to validate the Servers identity."""
    iterations: i32 = field(metadata={"kafka_type": "int32"})
    """The number of iterations used in the SCRAM credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(12)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    feature_level: i16 = field(metadata={"kafka_type": "int16"})
    """The current finalized feature level of this feature for the cluster, a value of 0 means
    feature not supported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDataV0(_Nested):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(14)
    entity_type: str = field(metadata={"kafka_type": "string"})
    """The entity type."""
    entity_name: str | None = field(metadata={"kafka_type": "string"})
    """The name of the entity, or null if the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(14)
    entity: tuple[EntityDataV0, ...]
    """The quota entity to alter."""
    key: str = field(metadata={"kafka_type": "string"})
    """The quota configuration key."""
    value: f64 = field(metadata={"kafka_type": "float64"})
    """The value to set, otherwise ignored if the value is to be removed."""
    remove: bool = field(metadata={"kafka_type": "bool"})
    """Whether the quota configuration value should be removed, otherwise set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(15)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The ID of the requesting broker"""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    """The epoch of the requesting broker"""
    next_producer_id: i64 = field(metadata={"kafka_type": "int64"})
    """The next producerId that will be assigned (i.e. the first producerId in the next assigned
    block)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(17)
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker id."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"})
    """The broker epoch assigned by the controller."""
    fenced: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """-1 if the broker has been unfenced, 0 if no change, 1 if the broker has been fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV1(BrokerRegistrationChangeRecordV0):
    __version__: ClassVar[i16] = i16(1)
    in_controlled_shutdown: i8 = field(metadata={"kafka_type": "int8", "tag": 1}, default=i8(0))
    """0 if no change, 1 if the broker is in controlled shutdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecordV2(BrokerRegistrationChangeRecordV1):
    __version__: ClassVar[i16] = i16(2)
    log_dirs: tuple[uuid.UUID | None, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 2}, default=()
    )
    """Log directories configured in this broker which are available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(18)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The unique ID of this ACL."""
    resource_type: i8 = field(metadata={"kafka_type": "int8"})
    """The resource type."""
    resource_name: str = field(metadata={"kafka_type": "string"})
    """The resource name."""
    pattern_type: i8 = field(metadata={"kafka_type": "int8"})
    """The resource name pattern type."""
    principal: str = field(metadata={"kafka_type": "string"})
    """The principal name."""
    host: str = field(metadata={"kafka_type": "string"})
    """The host name."""
    operation: i8 = field(metadata={"kafka_type": "int8"})
    """The AclOperation."""
    permission_type: i8 = field(metadata={"kafka_type": "int8"})
    """The AclPermissionType."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(19)
    id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The ID of the AccessControlEntry to remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(21)
    zk_migration_state: i8 = field(metadata={"kafka_type": "int8"})
    """One of the possible migration states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(22)
    name: str = field(metadata={"kafka_type": "string"})
    """The user name."""
    mechanism: i8 = field(metadata={"kafka_type": "int8"})
    """The SCRAM mechanism."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(23)
    name: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)
    """An optional textual description of this transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(25)
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)
    """An optional textual description of why the transaction was aborted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(26)
    token_id: str = field(metadata={"kafka_type": "string"})
    """The tokenID to remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpointV0(_Nested):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(27)
    name: str = field(metadata={"kafka_type": "string"})
    """The name of the endpoint."""
    host: str = field(metadata={"kafka_type": "string"})
    """The hostname."""
    port: u16 = field(metadata={"kafka_type": "uint16"})
    """The port."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """The security protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFeatureV0(_Nested):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(27)
    name: str = field(metadata={"kafka_type": "string"})
    """The feature name."""
    min_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The minimum supported feature level."""
    max_supported_version: i16 = field(metadata={"kafka_type": "int16"})
    """The maximum supported feature level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecordV0(_Record):
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16] = i16(27)
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    """The controller id."""
    incarnation_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """The incarnation ID of the controller process"""
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    """Set if the required configurations for ZK migration are present."""
    end_points: tuple[ControllerEndpointV0, ...]
    """The endpoints that can be used to communicate with this controller."""
    features: tuple[ControllerFeatureV0, ...]
    """The features on this controller"""


MetadataRecord: TypeAlias = (
    RegisterBrokerRecordV0
    | RegisterBrokerRecordV1
    | RegisterBrokerRecordV2
    | RegisterBrokerRecordV3
    | UnregisterBrokerRecordV0
    | TopicRecordV0
    | PartitionRecordV0
    | PartitionRecordV1
    | PartitionRecordV2
    | ConfigRecordV0
    | PartitionChangeRecordV0
    | PartitionChangeRecordV1
    | PartitionChangeRecordV2
    | FenceBrokerRecordV0
    | UnfenceBrokerRecordV0
    | RemoveTopicRecordV0
    | DelegationTokenRecordV0
    | UserScramCredentialRecordV0
    | FeatureLevelRecordV0
    | ClientQuotaRecordV0
    | ProducerIdsRecordV0
    | BrokerRegistrationChangeRecordV0
    | BrokerRegistrationChangeRecordV1
    | BrokerRegistrationChangeRecordV2
    | AccessControlEntryRecordV0
    | RemoveAccessControlEntryRecordV0
    | NoOpRecordV0
    | ZkMigrationStateRecordV0
    | RemoveUserScramCredentialRecordV0
    | BeginTransactionRecordV0
    | EndTransactionRecordV0
    | AbortTransactionRecordV0
    | RemoveDelegationTokenRecordV0
    | RegisterControllerRecordV0
)
"""The value of any data record of the metadata log."""

RECORDS: Final[Mapping[tuple[int, int], type[MetadataRecord]]] = {
    (each.__api_key__, each.__version__): each for each in get_args(MetadataRecord)
}
"""Every record class by (api key, version)."""
