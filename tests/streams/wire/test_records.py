"""The records that `migration` uses, from their bytes."""

import dataclasses
import uuid

import pytest
from hypothesis import given
from kio.static.primitive import f64

from migration.comparison.quotas import QUOTA_RESOURCE, digest_of
from migration.metadata import records as domain
from migration.metadata.directory_ids import MIGRATING
from streams.wire.errors import DamagedValue, UnsupportedRecordVersion, WireError
from streams.wire.project import PROJECTED, project, read_in_full
from streams.wire.records import read_record
from streams.wire.schema import (
    BrokerFeatureV0,
    BrokerRegistrationChangeRecordV0,
    ClientQuotaRecordV0,
    EntityDataV0,
    MetadataRecord,
    PartitionChangeRecordV1,
    PartitionRecordV0,
    PartitionRecordV1,
    RegisterBrokerRecordV0,
    ZkMigrationStateRecordV0,
)
from tests.streams.wire.strategies import records
from tests.support.examples import examples
from tests.support.wire_writing import write_value

ID = uuid.UUID("3c5f0c9e-57a5-4c4b-9f4e-2f8f3a1b7c11")
Outcome = domain.Record | type[WireError]


def outcome(read: object, value: bytes) -> Outcome:
    """What a reader makes of the value: the record, or the class of its error."""
    assert callable(read)
    try:
        found: domain.Record = read(value)
    except WireError as error:
        return type(error)
    return found


def same(value: bytes) -> bool:
    """Whether short and long way agree, on the types inside as well as on the values."""
    short, long = outcome(read_record, value), outcome(read_in_full, value)
    return short == long and repr(short) == repr(long)


def partition(**changes: object) -> bytes:
    """One PartitionRecord, version 1."""
    fields = {
        "partition_id": 7,
        "topic_id": ID,
        "replicas": (1, 2, 3),
        "isr": (3, 1),
        "removing_replicas": (),
        "adding_replicas": (),
        "leader": 3,
        "leader_epoch": 4,
        "partition_epoch": 9,
        "directories": (ID, None, ID),
    }
    return write_value(PartitionRecordV1(**fields | changes))  # type: ignore[arg-type]


@examples()
@given(records())
def test_every_record_is_projected_or_unrelated(record: MetadataRecord) -> None:
    if isinstance(record, ZkMigrationStateRecordV0) and record.zk_migration_state not in range(4):
        with pytest.raises(DamagedValue, match=r"ZkMigrationState .* is none that Kafka 3\.9"):
            read_record(write_value(record))
        return
    found = read_record(write_value(record))
    assert found == project(record)
    assert isinstance(found, domain.Unrelated) == (record.__api_key__ not in PROJECTED)


def test_a_partition_without_directories_is_all_migrating() -> None:
    """KIP-858, "Metadata records": Directories is a new, tagged field."""
    old = PartitionRecordV0(
        **{
            field.name: getattr(read, field.name)
            for read in [read_entity(partition())]
            for field in dataclasses.fields(PartitionRecordV0)
        }
    )
    for value in (write_value(old), partition(directories=())):
        found = read_record(value)
        assert isinstance(found, domain.Partition)
        assert found.directories is None


def read_entity(value: bytes) -> MetadataRecord:
    """Read a value of a known type."""
    from streams.wire.values import read_value

    entity = read_value(value)
    assert not isinstance(entity, domain.Unknown)
    return entity


def test_a_zero_directory_id_is_migrating() -> None:
    """KIP-858, "Reserved UUIDs"; (0, 0) is UNASSIGNED_DIR there, MIGRATING in Kafka 3.9."""
    found = read_record(partition())
    assert isinstance(found, domain.Partition)
    assert found.directories == (ID.bytes, MIGRATING, ID.bytes)


def test_a_change_says_what_did_not_change() -> None:
    value = write_value(PartitionChangeRecordV1(topic_id=ID, isr=(2,)))  # type: ignore[arg-type]
    assert read_record(value) == domain.PartitionChange(-1, ID.bytes, isr=(2,))


def test_an_empty_list_of_directories_on_a_change_is_not_null() -> None:
    """KIP-858, "Metadata records": Directories of a PartitionChangeRecord."""
    value = write_value(PartitionChangeRecordV1(topic_id=ID, directories=()))
    assert read_record(value) == domain.PartitionChange(-1, ID.bytes, directories=())


def test_fields_that_a_version_lacks_take_their_defaults() -> None:
    change = BrokerRegistrationChangeRecordV0(broker_id=1, broker_epoch=5)  # type: ignore[arg-type]
    assert read_record(write_value(change)) == domain.BrokerRegistrationChange(1, 5)
    broker = RegisterBrokerRecordV0(
        broker_id=1,  # type: ignore[arg-type]
        incarnation_id=ID,
        broker_epoch=5,  # type: ignore[arg-type]
        end_points=(),
        features=(),
        rack=None,
    )
    assert read_record(write_value(broker)) == domain.RegisterBroker(
        1, False, ID.bytes, 5, None, True, False, ()
    )


def test_a_broker_says_which_metadata_version_it_supports() -> None:
    named = (("kraft.version", 0, 1), ("metadata.version", 1, 21))
    features = tuple(
        BrokerFeatureV0(
            name=name,
            min_supported_version=low,  # type: ignore[arg-type]
            max_supported_version=high,  # type: ignore[arg-type]
        )
        for name, low, high in named
    )
    broker = RegisterBrokerRecordV0(
        broker_id=1,  # type: ignore[arg-type]
        incarnation_id=ID,
        broker_epoch=5,  # type: ignore[arg-type]
        end_points=(),
        features=features,
        rack=None,
    )
    read = read_record(write_value(broker))
    assert isinstance(read, domain.RegisterBroker)
    assert read.supports == 21


def test_an_unrelated_record_is_known_by_its_frame_alone() -> None:
    assert read_record(b"\x01\x0f\x00 anything") == domain.Unrelated(15)


def test_an_unknown_type_is_counted_by_whoever_reads() -> None:
    assert read_record(b"\x01\x77\x05 anything") == domain.Unknown(0x77)
    assert read_record(b"\x01\xac\x02\x00") == domain.Unknown(300)


def test_a_newer_version_of_an_unrelated_type_is_refused_too() -> None:
    with pytest.raises(UnsupportedRecordVersion):
        read_record(b"\x01\x04\x01\x00")


def test_a_needlessly_long_frame_is_refused_by_both_readers() -> None:
    assert same(b"\x81\x00\x94\x00\x80\x00\x00")
    assert same(b"\x81\x00\x03\x01" + partition()[3:])


@pytest.mark.parametrize("remove", [False, True])
def test_a_quota_is_a_setting_of_whoever_has_it(remove: bool) -> None:
    record = ClientQuotaRecordV0(
        entity=(
            EntityDataV0(entity_type="client-id", entity_name=None),
            EntityDataV0(entity_type="user", entity_name="al ice"),
        ),
        key="producer_byte_rate",
        value=f64(1024.0),
        remove=remove,
    )
    assert read_record(write_value(record)) == domain.Config(
        resource_type=QUOTA_RESOURCE,
        resource_name="user 'al ice', client-id default",
        name="producer_byte_rate",
        digest=None if remove else digest_of(1024),
    )
