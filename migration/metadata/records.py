"""The metadata records of replicas, brokers and controllers, as plain values.

The fields are those of `metadata/src/main/resources/common/metadata/*.json` in Kafka 3.9, without
the versions of the wire format: a field that a version does not have gets the schema's default. Ids
are 16 raw bytes. `None` in a change record means "did not change", as in Kafka. Named tuples,
because a replay creates a million of them.
"""

from typing import NamedTuple, TypeAlias

from migration.metadata.directory_ids import DirectoryId


class Topic(NamedTuple):
    """TopicRecord (2)."""

    name: str
    topic_id: bytes


class RemoveTopic(NamedTuple):
    """RemoveTopicRecord (9)."""

    topic_id: bytes


class Partition(NamedTuple):
    """PartitionRecord (3). `directories` None: absent or empty, every replica MIGRATING.

    `recovering`: its leader was elected although it was not in the ISR (LeaderRecoveryState 1).
    """

    partition_id: int
    topic_id: bytes
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    directories: tuple[DirectoryId, ...] | None = None
    recovering: bool = False


class PartitionChange(NamedTuple):
    """PartitionChangeRecord (5). `leader` -2: did not change.

    `recovering`: it sets LeaderRecoveryState 1, because it elects a leader that is not in the ISR.
    """

    partition_id: int
    topic_id: bytes
    isr: tuple[int, ...] | None = None
    leader: int = -2
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    directories: tuple[DirectoryId, ...] | None = None
    recovering: bool = False


class RegisterBroker(NamedTuple):
    """RegisterBrokerRecord (0). `log_dirs`: the directories that were online at registration.

    `host`: of its first listener; None: it has no listener. `supports`: the highest
    metadata.version that it supports.
    """

    broker_id: int
    is_migrating_zk_broker: bool
    incarnation_id: bytes
    broker_epoch: int
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[DirectoryId, ...]
    host: str | None = None
    supports: int | None = None


class UnregisterBroker(NamedTuple):
    """UnregisterBrokerRecord (1)."""

    broker_id: int
    broker_epoch: int


class FenceBroker(NamedTuple):
    """FenceBrokerRecord (7), written below metadata.version 3.3-IV2."""

    broker_id: int
    broker_epoch: int


class UnfenceBroker(NamedTuple):
    """UnfenceBrokerRecord (8), written below metadata.version 3.3-IV2."""

    broker_id: int
    broker_epoch: int


class BrokerRegistrationChange(NamedTuple):
    """BrokerRegistrationChangeRecord (17). `fenced`: 1 fence, -1 unfence, 0 no change.

    `in_controlled_shutdown`: 1 in controlled shutdown, 0 no change (only a new registration
    resets it). `log_dirs` empty: no change (BrokerRegistrationChangeRecord.json).
    """

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[DirectoryId, ...] = ()


class FeatureLevel(NamedTuple):
    """FeatureLevelRecord (12), `metadata.version` among them."""

    name: str
    feature_level: int


class ZkMigrationState(NamedTuple):
    """ZkMigrationStateRecord (21), in order: 0 none, 2 pre-, 1 in and 3 post-migration."""

    zk_migration_state: int


class BeginTransaction(NamedTuple):
    """BeginTransactionRecord (23)."""

    name: str | None


class EndTransaction(NamedTuple):
    """EndTransactionRecord (24)."""


class AbortTransaction(NamedTuple):
    """AbortTransactionRecord (25)."""

    reason: str | None


class RegisterController(NamedTuple):
    """RegisterControllerRecord (27). `host`: of its first listener; None: it has none."""

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    host: str | None = None


class NoOp(NamedTuple):
    """NoOpRecord (20): the controller is alive."""


class LeaderChange(NamedTuple):
    """The control record that a new active controller writes first (LeaderChangeMessage)."""

    leader_id: int


class Config(NamedTuple):
    """ConfigRecord (4) or ClientQuotaRecord (14), without the value, which may be a secret.

    Attributes:
        resource_type: 2 a topic, 4 a broker (ConfigResource.Type); or
        `migration.comparison.quotas`.
        digest: of the value (`migration.values.digests`); None: the key is deleted.
    """

    resource_type: int
    resource_name: str
    name: str
    digest: bytes | None


class Unrelated(NamedTuple):
    """A record type of Kafka 3.9 that Kraftgate does not use (ACLs, SCRAM, ...)."""

    api_key: int


class Unknown(NamedTuple):
    """A record type that Kafka 3.9 does not have; it is counted and skipped."""

    api_key: int


Record: TypeAlias = (
    Topic
    | RemoveTopic
    | Partition
    | PartitionChange
    | RegisterBroker
    | UnregisterBroker
    | FenceBroker
    | UnfenceBroker
    | BrokerRegistrationChange
    | FeatureLevel
    | ZkMigrationState
    | BeginTransaction
    | EndTransaction
    | AbortTransaction
    | RegisterController
    | NoOp
    | LeaderChange
    | Config
    | Unrelated
    | Unknown
)


class Stamped(NamedTuple):
    """A committed record with its offset and its timestamp (ms since the epoch)."""

    offset: int
    timestamp_ms: int
    record: Record
