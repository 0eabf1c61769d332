"""A metadata log of a whole migration, in Kafka's own format, as large as asked for.

    python -m tests.bench.generate --partitions 200000 --brokers 300 --directories 12 --out DIR

writes DIR/__cluster_metadata-0/00000000000000000000.log: the bootstrap with state 2, migrating
registrations, the "ZK Migration" transaction with every topic (replication factor 3, no
directories) and state 1, then broker by broker its KRaft restart with its assignments, and state 3
from a new leader. The same arguments give the same bytes.

Assignments, `--changes`: `partition` (the default) writes one change for each partition, which
names all three directories once the last of its brokers is in KRaft mode: as many changes as
partitions, and with that many brokers unfenced early for long. `replica` writes what brokers
really ask for, one change for each replica as its broker comes: three times as many.
"""

import argparse
import json
import random
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, get_args

from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i64, u16

from migration.metadata.directory_ids import MIGRATING, to_text
from streams.wire import schema
from streams.wire.schema import BrokerEndpointV0, BrokerFeatureV0
from tests.bench.oracle import ExpectedBroker, Oracle
from tests.bench.values import REPLICAS, assignment_v1, leadership_v1, partition_v0
from tests.support.wire_writing import write_batch, write_leader_change, write_value

Changes = Literal["partition", "replica"]

LOG_NAME: Final = "00000000000000000000.log"
START_MS: Final = 1_700_000_000_000
TOPIC_PARTITIONS: Final = 100
COPY_BATCH: Final = (200, 10_000)
"""Records of one batch of the copy: `zookeeper.metadata.migration.min.batch.size`, and the most."""
REQUEST_MAX: Final = 2250
"""Replicas in one AssignReplicasToDirs request (AssignmentsManager)."""
_CONTROLLER: Final = 3000
_METADATA_VERSION: Final = 21
_LEADERSHIPS: Final = 20
"""So many partitions change their leader when a broker goes; in truth it would be all it leads."""
_NO_OP: Final = write_value(schema.NoOpRecordV0())
_IDLE_MS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large the log is."""

    partitions: int
    brokers: int
    directories: int
    changes: Changes = "partition"
    seed: int = 858

    def __post_init__(self) -> None:
        """Refuse what Kafka would refuse.

        Raises:
            ValueError: fewer brokers than replicas, or nothing to write.
        """
        if self.brokers < REPLICAS or self.partitions < 1 or self.directories < 1:
            raise ValueError(f"at least {REPLICAS} brokers, a partition and a directory")


class _Writer:
    """Appends batches as the active controller does, and keeps offset, epoch and clock."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.offset = 0
        self.epoch = 1
        self.now_ms = START_MS

    def leads(self) -> None:
        """Write the control batch that opens the epoch."""
        self._file.write(write_leader_change(self.offset, self.epoch, self.now_ms, _CONTROLLER))
        self.offset += 1

    def batch(self, values: Sequence[bytes]) -> int:
        """Write one batch; its first offset comes back. All its records have `now_ms`."""
        first = self.offset
        self._file.write(write_batch(first, self.epoch, self.now_ms, values))
        self.offset += len(values)
        return first

    def pass_ms(self, elapsed_ms: int) -> None:
        """Let time pass; an idle controller writes a no-op record each half second of it."""
        until = self.now_ms + elapsed_ms
        while until - self.now_ms >= _IDLE_MS:
            self.now_ms += _IDLE_MS
            self.batch([_NO_OP])
        self.now_ms = until


@dataclass(frozen=True, slots=True)
class _Place:
    """One partition: where it is and where its replicas will be."""

    partition: int
    topic_id: bytes
    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]


class _Story:
    """The migration of one cluster, written in order."""

    def __init__(self, shape: Shape, writer: _Writer) -> None:
        self._shape = shape
        self._writer = writer
        self._rng = random.Random(shape.seed)  # noqa: S311 a plot, not a secret
        self._directories = {
            broker: [self._rng.randbytes(16) for _ in range(shape.directories)]
            for broker in range(1, shape.brokers + 1)
        }
        self.oracle = Oracle(
            {
                broker: ExpectedBroker(broker, [to_text(each) for each in ids])
                for broker, ids in self._directories.items()
            }
        )
        self._places = list(self._placed())
        self._by_turn = self._turns()

    def write(self) -> None:
        """Write it from the first leader to the finalized cluster."""
        self._bootstrap()
        for broker in self._directories:
            self._enter_migration(broker)
        self._copy()
        for broker in self._directories:
            self._move_to_kraft(broker)
        self._finalize()
        self.oracle.records = self._writer.offset

    def _placed(self) -> Iterator[_Place]:
        """Kafka's own placing: round robin, the followers' distance moving on with each round."""
        brokers = self._shape.brokers
        chosen = self._rng.randbytes(REPLICAS * self._shape.partitions)
        topic_id = b""
        for number in range(self._shape.partitions):
            if number % TOPIC_PARTITIONS == 0:
                topic_id = self._rng.randbytes(16)
            shift = number // brokers % (brokers - 1)
            first = number % brokers
            others = [(first + 1 + (shift + each) % (brokers - 1)) % brokers for each in (0, 1)]
            replicas = (first + 1, *[each + 1 for each in others])
            picked = chosen[REPLICAS * number : REPLICAS * (number + 1)]
            directories = tuple(
                [
                    self._directories[broker][pick % self._shape.directories]
                    for broker, pick in zip(replicas, picked, strict=True)
                ]
            )
            yield _Place(number % TOPIC_PARTITIONS, topic_id, replicas, directories)

    def _turns(self) -> dict[int, list[_Place]]:
        """The partitions whose assignments are written when a broker comes, by broker."""
        turns: dict[int, list[_Place]] = {broker: [] for broker in self._directories}
        for place in self._places:
            if self._shape.changes == "partition":
                turns[max(place.replicas)].append(place)
            else:
                for broker in place.replicas:
                    turns[broker].append(place)
        return turns

    def _bootstrap(self) -> None:
        writer = self._writer
        writer.leads()
        writer.batch(
            [
                write_value(schema.BeginTransactionRecordV0(name="Bootstrap records")),
                write_value(
                    schema.FeatureLevelRecordV0(
                        name="metadata.version", feature_level=i16(_METADATA_VERSION)
                    )
                ),
                write_value(schema.ZkMigrationStateRecordV0(zk_migration_state=i8(2))),
                write_value(schema.EndTransactionRecordV0()),
            ]
        )
        controller = schema.RegisterControllerRecordV0(
            controller_id=i32(_CONTROLLER),
            incarnation_id=uuid.UUID(bytes=self._rng.randbytes(16)),
            zk_migration_ready=True,
            end_points=(),
            features=(),
        )
        writer.batch([write_value(controller)])
        writer.pass_ms(2_000)

    def _register(self, broker: int, *, migrating: bool) -> int:
        """Write a registration, whose offset is its epoch, as in Kafka."""
        version = i16(_METADATA_VERSION)
        offset = self._writer.offset
        record = schema.RegisterBrokerRecordV3(
            broker_id=BrokerId(broker),
            is_migrating_zk_broker=migrating,
            incarnation_id=uuid.UUID(bytes=self._rng.randbytes(16)),
            broker_epoch=i64(offset),
            end_points=(
                BrokerEndpointV0(
                    name="PLAINTEXT",
                    host=f"broker-{broker}.example",
                    port=u16(9092),
                    security_protocol=i16(0),
                ),
            ),
            features=(
                BrokerFeatureV0(
                    name="metadata.version",
                    min_supported_version=version,
                    max_supported_version=version,
                ),
            ),
            rack=f"rack-{broker % REPLICAS}",
            fenced=True,
            log_dirs=tuple([uuid.UUID(bytes=each) for each in self._directories[broker]]),
        )
        return self._writer.batch([write_value(record)])

    def _change_registration(
        self, broker: int, epoch: int, *, fenced: int = 0, shutting_down: int = 0
    ) -> int:
        record = schema.BrokerRegistrationChangeRecordV2(
            broker_id=BrokerId(broker),
            broker_epoch=i64(epoch),
            fenced=i8(fenced),
            in_controlled_shutdown=i8(shutting_down),
        )
        return self._writer.batch([write_value(record)])

    def _enter_migration(self, broker: int) -> None:
        epoch = self._register(broker, migrating=True)
        self.oracle.brokers[broker].registered = epoch
        self._writer.pass_ms(self._rng.randint(20, 90))
        self._change_registration(broker, epoch, fenced=-1)
        self._writer.pass_ms(self._rng.randint(300, 1_200))

    def _copy(self) -> None:
        writer = self._writer
        writer.batch([write_value(schema.BeginTransactionRecordV0(name="ZK Migration"))])
        values: list[bytes] = []
        room = self._rng.randint(*COPY_BATCH)
        for place in self._places:
            if place.partition == 0:
                if len(values) + TOPIC_PARTITIONS + 2 > room:
                    self._copied(values)
                    values, room = [], self._rng.randint(*COPY_BATCH)
                values += self._topic(place.topic_id)
            epoch = self._rng.randrange(40)
            values.append(partition_v0(place.partition, place.topic_id, place.replicas, epoch))
            self.oracle.hosts(place.replicas)
        self._copied(values)
        writer.batch(
            [
                write_value(
                    schema.ProducerIdsRecordV0(
                        broker_id=BrokerId(1), broker_epoch=i64(-1), next_producer_id=i64(1000)
                    )
                ),
                write_value(schema.ZkMigrationStateRecordV0(zk_migration_state=i8(1))),
                write_value(schema.EndTransactionRecordV0()),
            ]
        )
        writer.pass_ms(3_000)

    def _topic(self, topic_id: bytes) -> Iterator[bytes]:
        name = f"topic-{self.oracle.topics:05d}"
        self.oracle.topics += 1
        yield write_value(
            schema.TopicRecordV0(name=TopicName(name), topic_id=uuid.UUID(bytes=topic_id))
        )
        if self.oracle.topics % 5 == 0:
            yield write_value(
                schema.ConfigRecordV0(
                    resource_type=i8(2), resource_name=name, name="retention.ms", value="3600000"
                )
            )

    def _copied(self, values: Sequence[bytes]) -> None:
        if values:
            self._writer.batch(values)
            self._writer.now_ms += self._rng.randint(5, 30)

    def _move_to_kraft(self, broker: int) -> None:
        """Restart a broker; Kafka unfences it before or after its assignments, as the race goes."""
        writer, rng = self._writer, self._rng
        before = self.oracle.brokers[broker].registered
        self._change_registration(broker, before, shutting_down=1)
        self._leaderships(broker)
        self._change_registration(broker, before, fenced=1)
        writer.pass_ms(rng.randint(1_000, 2_500))
        epoch = self._register(broker, migrating=False)
        self.oracle.registered(broker, epoch)
        writer.pass_ms(rng.randint(20, 200))
        early = rng.random() < 0.5
        if early:
            self._unfence(broker, epoch)
        waiting = self._by_turn[broker]
        for first in range(0, len(waiting), REQUEST_MAX):
            self._assign(broker, waiting[first : first + REQUEST_MAX])
            writer.pass_ms(rng.randint(15, 60))
        if not early:
            self._unfence(broker, epoch)
        writer.pass_ms(rng.randint(200, 1_100))

    def _unfence(self, broker: int, epoch: int) -> None:
        offset = self._change_registration(broker, epoch, fenced=-1)
        self.oracle.unfenced(broker, offset, self._writer.now_ms)
        self._writer.pass_ms(self._rng.randint(5, 40))

    def _leaderships(self, broker: int) -> None:
        """Move some leaderships away, in Kafka's shape of such a change."""
        led = self._places[broker - 1 :: self._shape.brokers][:_LEADERSHIPS]
        if led:
            self._writer.batch([
                leadership_v1(
                    place.partition, place.topic_id, place.replicas[1:], place.replicas[1]
                )
                for place in led
            ])  # fmt: skip

    def _assign(self, broker: int, places: Sequence[_Place]) -> None:
        whole = self._shape.changes == "partition"
        values = []
        offset, now_ms, oracle = self._writer.offset, self._writer.now_ms, self.oracle
        for at, place in enumerate(places, start=offset):
            directories: Sequence[bytes] = place.directories
            if whole:
                for each in place.replicas:
                    oracle.assigned(each, at, now_ms)
            else:
                oracle.assigned(broker, at, now_ms)
                directories = [
                    one if host <= broker else MIGRATING
                    for host, one in zip(place.replicas, place.directories, strict=True)
                ]
            values.append(assignment_v1(place.partition, place.topic_id, directories))
        oracle.changes += len(values)
        self._writer.batch(values)

    def _finalize(self) -> None:
        writer = self._writer
        writer.pass_ms(8_000)
        writer.epoch += 1
        writer.leads()
        writer.batch([write_value(schema.ZkMigrationStateRecordV0(zk_migration_state=i8(3)))])
        writer.pass_ms(2_000)


def generate(shape: Shape, out: Path) -> tuple[Path, Oracle, int]:
    """Write the log below `out`.

    Returns:
        Its path, what it must come to, and its last metadata offset.
    """
    path = out / "__cluster_metadata-0" / LOG_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = _Writer(file)
        story = _Story(shape, writer)
        story.write()
    return path, story.oracle, writer.offset - 1


def main() -> None:
    """Generate from the command line; the oracle goes to stdout, or to a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--directories", type=int, default=12)
    parser.add_argument("--changes", choices=get_args(Changes), default="partition")
    parser.add_argument("--seed", type=int, default=858)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--oracle", type=Path, help="write what replay must print there, as JSON")
    given = parser.parse_args()
    shape = Shape(
        partitions=given.partitions,
        brokers=given.brokers,
        directories=given.directories,
        changes=given.changes,
        seed=given.seed,
    )
    path, oracle, last = generate(shape, given.out)
    if given.oracle is not None:
        given.oracle.write_text(json.dumps(oracle.told(last)), encoding="utf-8")
    size = path.stat().st_size
    sys.stdout.write(
        f"{path}: {oracle.records} records, {oracle.partitions} partitions, "
        f"{oracle.changes} assignment changes, {size / 2**20:.1f} MiB\n"
    )


if __name__ == "__main__":
    main()
