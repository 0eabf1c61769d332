"""The generated log is what Kafka would write, and comes to what its oracle says."""

import json
import uuid
from collections import Counter
from pathlib import Path

import pytest
from kio.schema.types import BrokerId
from kio.static.primitive import i32

from migration.metadata.directory_ids import MIGRATING
from migration.metadata.records import Partition, PartitionChange, Topic, ZkMigrationState
from orchestrator.api.status import cluster_json
from streams.wire import schema
from streams.wire.batches import read_batches
from streams.wire.records import read_records
from tests.bench.generate import LOG_NAME, Changes, Shape, generate
from tests.bench.oracle import differences
from tests.bench.values import assignment_v1, leadership_v1, partition_v0
from tests.support.pipeline import Run
from tests.support.wire_writing import write_value

TOPIC = bytes(range(16))
IDS = [bytes([one]) * 16 for one in (1, 2, 3)]


def small(changes: Changes = "partition", seed: int = 858) -> Shape:
    return Shape(partitions=250, brokers=5, directories=3, changes=changes, seed=seed)


def test_a_packed_partition_is_what_kafka_writes() -> None:
    brokers = tuple(BrokerId(one) for one in (4, 2, 300))
    record = schema.PartitionRecordV0(
        partition_id=i32(99),
        topic_id=uuid.UUID(bytes=TOPIC),
        replicas=brokers,
        isr=tuple(i32(one) for one in brokers),
        removing_replicas=(),
        adding_replicas=(),
        leader=brokers[0],
        leader_epoch=i32(7),
        partition_epoch=i32(7),
    )
    assert partition_v0(99, TOPIC, brokers, 7) == write_value(record)


def test_a_packed_assignment_is_what_kafka_writes() -> None:
    record = schema.PartitionChangeRecordV1(
        partition_id=i32(99),
        topic_id=uuid.UUID(bytes=TOPIC),
        directories=tuple(uuid.UUID(bytes=one) for one in IDS),
    )
    assert assignment_v1(99, TOPIC, IDS) == write_value(record)


def test_a_packed_change_of_leader_is_what_kafka_writes() -> None:
    record = schema.PartitionChangeRecordV1(
        partition_id=i32(99),
        topic_id=uuid.UUID(bytes=TOPIC),
        isr=(BrokerId(2), BrokerId(300)),
        leader=BrokerId(2),
    )
    assert leadership_v1(99, TOPIC, (2, 300), 2) == write_value(record)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two, other = (
        generate(small(seed=seed), tmp_path / name)[0].read_bytes()
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    assert one == two != other


@pytest.mark.parametrize("changes", ["partition", "replica"])
def test_counts_are_the_oracles(changes: Changes, tmp_path: Path) -> None:
    path, oracle, last = generate(small(changes), tmp_path)
    assert path.name == LOG_NAME
    kinds: Counter[type] = Counter()
    assigned: dict[tuple[bytes, int], tuple[bytes, ...]] = {}
    count = 0
    states = []
    end = -1
    for batch in read_batches(path.read_bytes(), file=path.name):
        count += batch.count
        end = batch.last_offset
        for _, _, record in read_records(batch):
            kinds[type(record)] += 1
            if isinstance(record, PartitionChange) and record.directories is not None:
                assigned[record.topic_id, record.partition_id] = record.directories
            elif isinstance(record, ZkMigrationState):
                states.append(record.zk_migration_state)
    assert (count, end) == (oracle.records, last)
    assert (kinds[Topic], kinds[Partition]) == (oracle.topics, oracle.partitions) == (3, 250)
    assert states == [2, 1, 3]
    assert oracle.changes == (250 if changes == "partition" else 750)
    assert len(assigned) == 250
    assert not any(MIGRATING in directories for directories in assigned.values())


@pytest.mark.parametrize("changes", ["partition", "replica"])
def test_the_oracle_tells_every_replica_assigned(changes: Changes, tmp_path: Path) -> None:
    _, oracle, last = generate(small(changes), tmp_path)
    told = oracle.told(last)
    assert sum(each["replicas"]["assigned"] for each in told["brokers"]) == 3 * 250
    assert not any(each["held"] for each in told["brokers"])
    for each in told["brokers"]:
        assert each["registered_offset"] < each["assignments_complete_offset"] <= last
        early = each["unfenced_early"]
        # Early: unfenced before the record that completed it.
        assert (early is not None) == (
            each["unfenced_offset"] < each["assignments_complete_offset"]
        )


@pytest.mark.parametrize("changes", ["partition", "replica"])
def test_the_oracle_tells_what_replay_prints(changes: Changes, tmp_path: Path) -> None:
    path, oracle, last = generate(small(changes), tmp_path)
    run = Run().follow(path.parent, 2**40)
    said = cluster_json(run.summary, run.events, complete=True)
    assert differences(oracle.told(last), json.loads(json.dumps(said))) == []


@pytest.mark.lab
@pytest.mark.parametrize("changes", ["partition", "replica"])
def test_kafka_prints_every_record_of_a_generated_log(changes: Changes, tmp_path: Path) -> None:
    from tests.bench.replay import printed_records

    path, oracle, _ = generate(small(changes), tmp_path)
    assert printed_records(path) == oracle.records
