"""Converts the full value of a record to the named tuple that `migration` uses.

In: a dataclass of `streams.wire.schema`. Out: the named tuple of `migration.metadata.records`. A
field that a version lacks gets the schema's default. Ids become 16 raw bytes. kio's None for the
zero UUID becomes the value that Kafka gives it: MIGRATING for a directory, otherwise zero.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from migration.comparison import quotas
from migration.metadata import records
from migration.metadata.directory_ids import MIGRATING, DirectoryId
from migration.values.secret_settings import setting_digest
from streams.wire import schema
from streams.wire.errors import DamagedValue
from streams.wire.schema import MetadataRecord
from streams.wire.values import read_value

_ZERO: Final = bytes(16)
_VERSION: Final = "metadata.version"
_MIGRATION_STATES: Final = range(4)
RECOVERING: Final = 1
"""LeaderRecoveryState: the leader was not in the ISR when it was elected."""


def _raw(value: uuid.UUID | None) -> bytes:
    return _ZERO if value is None else value.bytes


def _directories(ids: Iterable[uuid.UUID | None]) -> tuple[DirectoryId, ...]:
    return tuple(MIGRATING if one is None else DirectoryId(one.bytes) for one in ids)


def _register_broker(
    entity: schema.RegisterBrokerRecordV0 | schema.RegisterBrokerRecordV2,
) -> records.RegisterBroker:
    return records.RegisterBroker(
        broker_id=entity.broker_id,
        is_migrating_zk_broker=getattr(entity, "is_migrating_zk_broker", False),
        incarnation_id=_raw(entity.incarnation_id),
        broker_epoch=entity.broker_epoch,
        rack=entity.rack,
        fenced=entity.fenced,
        in_controlled_shutdown=getattr(entity, "in_controlled_shutdown", False),
        log_dirs=_directories(getattr(entity, "log_dirs", ())),
        host=next((each.host for each in entity.end_points), None),
        supports=next(
            (each.max_supported_version for each in entity.features if each.name == _VERSION), None
        ),
    )


def _broker_registration_change(
    entity: schema.BrokerRegistrationChangeRecordV0,
) -> records.BrokerRegistrationChange:
    return records.BrokerRegistrationChange(
        broker_id=entity.broker_id,
        broker_epoch=entity.broker_epoch,
        fenced=entity.fenced,
        in_controlled_shutdown=getattr(entity, "in_controlled_shutdown", 0),
        log_dirs=_directories(getattr(entity, "log_dirs", ())),
    )


def _partition(entity: schema.PartitionRecordV0) -> records.Partition:
    return records.Partition(
        partition_id=entity.partition_id,
        topic_id=_raw(entity.topic_id),
        replicas=entity.replicas,
        isr=entity.isr,
        removing_replicas=entity.removing_replicas,
        adding_replicas=entity.adding_replicas,
        leader=entity.leader,
        # Absent or empty: every replica is MIGRATING (PartitionRegistration.defaultToMigrating).
        directories=_directories(getattr(entity, "directories", ())) or None,
        recovering=entity.leader_recovery_state == RECOVERING,
    )


def _partition_change(entity: schema.PartitionChangeRecordV0) -> records.PartitionChange:
    directories = getattr(entity, "directories", None)
    return records.PartitionChange(
        partition_id=entity.partition_id,
        topic_id=_raw(entity.topic_id),
        isr=entity.isr,
        leader=entity.leader,
        replicas=entity.replicas,
        removing_replicas=entity.removing_replicas,
        adding_replicas=entity.adding_replicas,
        directories=None if directories is None else _directories(directories),
        recovering=entity.leader_recovery_state == RECOVERING,
    )


def _register_controller(entity: schema.RegisterControllerRecordV0) -> records.RegisterController:
    return records.RegisterController(
        controller_id=entity.controller_id,
        incarnation_id=_raw(entity.incarnation_id),
        zk_migration_ready=entity.zk_migration_ready,
        host=next((each.host for each in entity.end_points), None),
    )


def _config(entity: schema.ConfigRecordV0) -> records.Config:
    return records.Config(
        resource_type=entity.resource_type,
        resource_name=entity.resource_name,
        name=entity.name,
        digest=None if entity.value is None else setting_digest(entity.name, entity.value),
    )


def _client_quota(entity: schema.ClientQuotaRecordV0) -> records.Config:
    named = {each.entity_type: each.entity_name for each in entity.entity}
    return records.Config(
        resource_type=quotas.QUOTA_RESOURCE,
        resource_name=quotas.entity_of(named),
        name=entity.key,
        digest=None if entity.remove else quotas.digest_of(entity.value),
    )


def _zk_migration_state(entity: schema.ZkMigrationStateRecordV0) -> records.ZkMigrationState:
    state = entity.zk_migration_state
    if state not in _MIGRATION_STATES:
        raise DamagedValue(f"ZkMigrationState {state} is none that Kafka 3.9 writes")
    return records.ZkMigrationState(state)


# Each function accepts only the classes of its own key, which no annotation can express.
_PROJECTIONS: Final[Mapping[int, Callable[[Any], records.Record]]] = {
    0: _register_broker,
    1: lambda one: records.UnregisterBroker(one.broker_id, one.broker_epoch),
    2: lambda one: records.Topic(one.name, _raw(one.topic_id)),
    3: _partition,
    4: _config,
    5: _partition_change,
    7: lambda one: records.FenceBroker(one.id, one.epoch),
    8: lambda one: records.UnfenceBroker(one.id, one.epoch),
    9: lambda one: records.RemoveTopic(_raw(one.topic_id)),
    12: lambda one: records.FeatureLevel(one.name, one.feature_level),
    14: _client_quota,
    17: _broker_registration_change,
    20: lambda _: records.NoOp(),
    21: _zk_migration_state,
    23: lambda one: records.BeginTransaction(one.name),
    24: lambda _: records.EndTransaction(),
    25: lambda one: records.AbortTransaction(one.reason),
    27: _register_controller,
}
PROJECTED: Final = frozenset(_PROJECTIONS)
"""The api keys of the records that concern replicas, brokers or the migration."""


def project(entity: MetadataRecord) -> records.Record:
    """Convert a record's full value; `Unrelated` if `migration` does not use its type."""
    projection = _PROJECTIONS.get(entity.__api_key__)
    return projection(entity) if projection else records.Unrelated(entity.__api_key__)


def read_in_full(value: bytes) -> records.Record:
    """Decode the whole value of a record through kio.

    Raises:
        UnknownFrameVersion: the frame is not of version 1.
        UnsupportedRecordVersion: the type is known only in older versions.
        DamagedValue: the value is cut, has bytes left, or does not decode.
    """
    entity = read_value(value)
    return entity if isinstance(entity, records.Unknown) else project(entity)
