"""The oracle: projects a metadata log to the JSON of ``kraftgate replay``, naively.

Plain dicts, and a full recount of every replica after every record. It imports and copies no
code of the product: the rules are Kafka's, cited where they are used, and those of the replay
contract.

One place below defines each of: the begin and end of a hold, the meaning of "early", and the facts
that a snapshot contains or lacks.
"""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.oracle.dump import Batch, Record, read_dump

Json = dict[str, Any]

# org.apache.kafka.common.DirectoryId of Kafka 3.9: Uuid(0, 0), Uuid(0, 1), Uuid(0, 2); the others
# below 100 are reserved (KIP-858, "Reserved UUIDs").
MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAQ"
LOST = "AAAAAAAAAAAAAAAAAAAAAg"
_RESERVED = {MIGRATING: "migrating", UNASSIGNED: "unassigned", LOST: "lost"} | {
    base64.urlsafe_b64encode(bytes(15) + bytes([number])).decode().rstrip("="): "reserved"
    for number in range(3, 100)
}

# Fenced of BrokerRegistrationChangeRecord; 0 is "no change".
_FENCE, _UNFENCE = 1, -1

# LeaderConstants: of a PartitionChangeRecord, and of a partition.
_NO_LEADER_CHANGE, _NO_LEADER = -2, -1

_COPY = "ZK Migration"
_PHASES = {0: "kraft", 2: "pre-migration", 3: "finalized"}

CORE_KINDS = (
    "assignments_complete",
    "broker_fenced",
    "broker_registered",
    "broker_unfenced",
    "broker_unfenced_early",
    "broker_unregistered",
    "log_dirs_lost",
    "phase_changed",
    "topic_created",
    "topic_deleted",
)

_CHECKPOINT = re.compile(r"(\d{20})-\d{10}\.checkpoint")


def project(path: Path, dump: Callable[[Path], str]) -> Json:
    """Project a metadata log directory, one segment or one checkpoint.

    Args:
        path: The argument of ``kraftgate replay``.
        dump: Returns Kafka's dump of one file.

    Raises:
        ValueError: The files do not make one log.
    """
    if path.suffix == ".checkpoint":
        return project_texts([], (end_offset(path), dump(path)))
    if path.suffix == ".log":
        return project_texts([dump(path)])
    segments = sorted(path.glob("*.log"))
    first = int(segments[0].stem)
    last_known = int(segments[-1].stem)
    start = None
    if first > 0:
        # Kafka drops a segment only when a snapshot covers it, so one of them ends where the rest
        # of the log goes on; with several, the earliest leaves the most to the log itself.
        continued = [c for c in sorted(path.glob("*.checkpoint")) if end_offset(c) >= first]
        if not continued:
            raise ValueError(f"no checkpoint leads to offset {first}, nor to {last_known}")
        start = (end_offset(continued[0]), dump(continued[0]))
    return project_texts([dump(segment) for segment in segments], start)


def end_offset(checkpoint: Path) -> int:
    """Return the offset of the first record that a checkpoint does not contain."""
    match = _CHECKPOINT.fullmatch(checkpoint.name)
    if match is None:
        raise ValueError(f"not a checkpoint's name: {checkpoint.name}")
    return int(match[1])


def project_texts(segments: Iterable[str], checkpoint: tuple[int, str] | None = None) -> Json:
    """Project a checkpoint (its end offset and its dump) and the segments that follow, in order.

    Raises:
        ValueError: Records are missing between them, or a record contradicts an earlier one.
    """
    return project_batches((read_dump(text) for text in segments), checkpoint)


def project_batches(
    segments: Iterable[Iterable[Batch]], checkpoint: tuple[int, str] | None = None
) -> Json:
    """Project the batches of segments, as `project_texts` does those of their dumps."""
    cluster = _Cluster()
    next_offset: int | None = None
    if checkpoint is not None:
        next_offset = checkpoint[0]
        cluster.load_snapshot(next_offset, read_dump(checkpoint[1]))
    for batches in segments:
        for batch in batches:
            if next_offset is not None and batch.last_offset < next_offset:
                continue
            if next_offset is not None and batch.base_offset > next_offset:
                raise ValueError(f"offsets {next_offset} to {batch.base_offset - 1} are missing")
            for record in batch.records:
                if next_offset is None or record.offset >= next_offset:
                    cluster.read(record)
            next_offset = batch.last_offset + 1
            cluster.offset = batch.last_offset
    return cluster.json()


class _Cluster:
    """The whole state and its events."""

    def __init__(self) -> None:
        self.offset = -1
        self.topics: dict[str, str] = {}
        self.partitions: dict[tuple[str, int], Json] = {}
        self.brokers: dict[int, Json] = {}
        self.controllers: dict[int, Json] = {}
        self.migration_state: int | None = None
        self.transaction: str | None = None
        self.held_back: list[Record] = []
        self.events: list[Json] = []
        self.recording = True
        self.last_phase = "zookeeper"

    # Transactions, as MetadataBatchLoader has them

    def read(self, record: Record) -> None:
        """Take the next record: now, or once its transaction has ended."""
        match record.kind:
            case "BEGIN_TRANSACTION_RECORD":
                _demand(self.transaction is None, record, "a transaction is open already")
                self.transaction = record.data.get("name") or ""
                self.held_back = []
            case "END_TRANSACTION_RECORD":
                _demand(self.transaction is not None, record, "no transaction is open")
                self.transaction = None
                for one in self.held_back:
                    self.apply(one)
            case "ABORT_TRANSACTION_RECORD":
                _demand(self.transaction is not None, record, "no transaction is open")
                self.transaction = None
            case _ if self.transaction is not None:
                self.held_back.append(record)
            case _:
                self.apply(record)
        self.notice_phase(record)

    def apply(self, record: Record) -> None:
        """Apply one committed record to the state; then recount everything."""
        change = _CHANGES.get(record.kind)
        if change is not None:
            change(self, record)
        self.recount(record)

    # Snapshots

    def load_snapshot(self, end: int, batches: Iterable[Batch]) -> None:
        """Take the state at `end`; a snapshot holds the state, not the time of its changes."""
        self.recording = False
        for batch in batches:
            for record in batch.records:
                change = _CHANGES.get(record.kind)
                if change is not None:
                    change(self, record)
        self.offset = end - 1
        for broker in self.brokers.values():
            pending = self.pending(broker)
            broker["registered_offset"] = broker["epoch"]
            broker["unfenced_offset"] = None
            broker["assignments_complete_offset"] = None
            broker["held"] = broker["mode"] == "kraft" and pending > 0
            broker["unfenced_early"] = None
            broker["early_since_ms"] = broker["early_ms"] = None
            broker["ever_unfenced"] = not broker["fenced"]
            if broker["held"] and not broker["fenced"]:
                broker["unfenced_early"] = {"pending": pending, "duration_ms": None}
        for controller in self.controllers.values():
            controller["registered_offset"] = controller["registered_at"] = None
        self.last_phase = self.phase()
        self.recording = True

    # Brokers

    def register(self, record: Record) -> None:
        data = record.data
        kraft = not data.get("isMigratingZkBroker", False)
        before = self.brokers.get(data["brokerId"], {"log_dirs": [], "incarnation": None})
        if before["incarnation"] == data["incarnationId"]:
            self.amend(before, record)
            return
        self.brokers[data["brokerId"]] = {
            "id": data["brokerId"],
            "incarnation": data["incarnationId"],
            "epoch": data["brokerEpoch"],
            "mode": "kraft" if kraft else "migrating",
            "fenced": True,
            "held": kraft,  # the recount that follows lets go when nothing is pending
            "log_dirs": data.get("logDirs", []),
            "registered_offset": record.offset,
            "unfenced_offset": None,
            "assignments_complete_offset": None,
            "unfenced_early": None,
            "early_since_ms": None,
            "early_ms": None,
            "ever_unfenced": False,
        }
        self.happened(record, "broker_registered", data["brokerId"])
        self.compare_log_dirs(before["log_dirs"], data.get("logDirs", []), record)
        if not data["fenced"]:
            self.unfence(self.brokers[data["brokerId"]], record)

    def amend(self, broker: Json, record: Record) -> None:
        """The same process amends its registration ("Amending registration"): no restart."""
        data = record.data
        self.compare_log_dirs(broker["log_dirs"], data.get("logDirs", []), record)
        broker["epoch"] = data["brokerEpoch"]
        broker["fenced"] = data["fenced"]
        broker["log_dirs"] = data.get("logDirs", [])

    def change_registration(self, record: Record) -> None:
        broker = self.registered(record, record.data["brokerId"], record.data["brokerEpoch"])
        fenced = record.data.get("fenced", 0)
        log_dirs = record.data.get("logDirs", [])
        if fenced == _UNFENCE:
            self.unfence(broker, record)
        if fenced == _FENCE:
            self.fence(broker, record)
        if log_dirs:
            self.compare_log_dirs(broker["log_dirs"], log_dirs, record)
            broker["log_dirs"] = log_dirs

    def compare_log_dirs(self, before: Sequence[str], now: Sequence[str], record: Record) -> None:
        """A directory is lost while the broker runs, or is missing after its restart."""
        if set(before) - set(now):
            self.happened(record, "log_dirs_lost", record.data["brokerId"])

    def unregister(self, record: Record) -> None:
        broker = self.registered(record, record.data["brokerId"], record.data["brokerEpoch"])
        del self.brokers[broker["id"]]
        self.happened(record, "broker_unregistered", broker["id"])

    def unfence(self, broker: Json, record: Record) -> None:
        if not broker["fenced"]:
            return
        broker["fenced"] = False
        if not broker["ever_unfenced"]:
            broker["unfenced_offset"] = record.offset
        broker["ever_unfenced"] = True
        self.happened(record, "broker_unfenced", broker["id"])
        pending = self.pending(broker)
        if not broker["held"] or pending == 0:
            return
        # Each unfencing of a held broker is early; the contract reports the sum of their times.
        self.happened(record, "broker_unfenced_early", broker["id"])
        if broker["unfenced_early"] is None:
            broker["unfenced_early"] = {"pending": pending, "duration_ms": None}
            broker["early_ms"] = 0
        broker["early_since_ms"] = record.timestamp_ms

    def fence(self, broker: Json, record: Record) -> None:
        if broker["fenced"]:
            return
        broker["fenced"] = True
        self.end_early(broker, record)
        self.happened(record, "broker_fenced", broker["id"])

    def end_early(self, broker: Json, record: Record) -> None:
        """Count the time of an early unfencing that ends; one that a snapshot had is unknown."""
        if broker["early_since_ms"] is not None and broker["early_ms"] is not None:
            broker["early_ms"] += record.timestamp_ms - broker["early_since_ms"]
        broker["early_since_ms"] = None

    def registered(self, record: Record, id_: int, epoch: int) -> Json:
        """Return the registration that a record is about, as ClusterDelta.getBrokerOrThrow does."""
        broker = self.brokers.get(id_)
        if broker is None or broker["epoch"] != epoch:
            raise ValueError(f"offset {record.offset}: broker {id_} has no registration {epoch}")
        return broker

    def register_controller(self, record: Record) -> None:
        at = datetime.fromtimestamp(record.timestamp_ms / 1000, tz=UTC)
        self.controllers[record.data["controllerId"]] = {
            "id": record.data["controllerId"],
            "zk_migration_ready": record.data["zkMigrationReady"],
            "registered_offset": record.offset,
            "registered_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    # Topics

    def create_topic(self, record: Record) -> None:
        self.topics[record.data["topicId"]] = record.data["name"]
        self.happened(record, "topic_created")

    def remove_topic(self, record: Record) -> None:
        gone = record.data["topicId"]
        del self.topics[gone]
        self.partitions = {key: p for key, p in self.partitions.items() if key[0] != gone}
        self.happened(record, "topic_deleted")

    def create_partition(self, record: Record) -> None:
        data = record.data
        key = (data["topicId"], data["partitionId"])
        _demand(data["topicId"] in self.topics, record, "its topic is unknown")
        self.partitions[key] = {
            "replicas": data["replicas"],
            "directories": _directories(data.get("directories"), data["replicas"], record),
            "isr": data["isr"],
            "leader": data["leader"],
            "adding": data["addingReplicas"],
            "removing": data["removingReplicas"],
        }

    def change_partition(self, record: Record) -> None:
        data = record.data
        partition = self.partitions[data["topicId"], data["partitionId"]]
        replicas = data.get("replicas")
        directories = data.get("directories")
        if replicas is not None:
            partition["replicas"] = replicas
        if data.get("leader", _NO_LEADER_CHANGE) != _NO_LEADER_CHANGE:
            partition["leader"] = data["leader"]
        for name, field in (
            ("isr", "isr"),
            ("adding", "addingReplicas"),
            ("removing", "removingReplicas"),
        ):
            if data.get(field) is not None:
                partition[name] = data[field]
        if directories is None:
            directories = partition["directories"]
        partition["directories"] = _directories(directories, partition["replicas"], record)

    # Phases

    def migration(self, record: Record) -> None:
        self.migration_state = record.data["zkMigrationState"]

    def phase(self) -> str:
        if self.transaction == _COPY:
            return "copying"
        modes = [broker["mode"] for broker in self.brokers.values()]
        if self.migration_state is None:
            return "kraft" if "kraft" in modes else "zookeeper"
        if self.migration_state == 1:
            return "hybrid" if "migrating" in modes else "dual-write"
        return _PHASES[self.migration_state]

    def notice_phase(self, record: Record) -> None:
        if self.phase() != self.last_phase:
            self.happened(record, "phase_changed")
        self.last_phase = self.phase()

    # Counting

    def recount(self, record: Record) -> None:
        """End every hold that is no longer justified."""
        for broker in self.brokers.values():
            if not broker["held"] or self.pending(broker) > 0:
                continue
            broker["held"] = False
            broker["assignments_complete_offset"] = record.offset
            self.end_early(broker, record)
            if broker["unfenced_early"] is not None:
                broker["unfenced_early"]["duration_ms"] = broker["early_ms"]
            self.happened(record, "assignments_complete", broker["id"])

    def counts(self, broker: Json) -> dict[str, int]:
        counts = dict.fromkeys(
            ("migrating", "unassigned", "assigned", "offline", "lost", "reserved"), 0
        )
        for partition in self.partitions.values():
            pairs = zip(partition["replicas"], partition["directories"], strict=True)
            for replica, directory in pairs:
                if replica == broker["id"]:
                    counts[_replica_state(directory, broker["log_dirs"])] += 1
        return counts

    def pending(self, broker: Json) -> int:
        counts = self.counts(broker)
        return sum(counts[each] for each in ("migrating", "unassigned", "lost", "reserved"))

    def happened(self, record: Record, kind: str, broker: int | None = None) -> None:
        if self.recording:
            self.events.append(
                {
                    "offset": record.offset,
                    "timestamp_ms": record.timestamp_ms,
                    "kind": kind,
                    "broker": broker,
                }
            )

    def json(self) -> Json:
        partitions = self.partitions.values()
        return {
            "metadata_offset": self.offset,
            "phase": self.phase(),
            "topics": len(self.topics),
            "partitions": len(self.partitions),
            "brokers": [
                {
                    "id": id_,
                    "epoch": broker["epoch"],
                    "mode": broker["mode"],
                    "fenced": broker["fenced"],
                    "held": broker["held"],
                    "log_dirs": broker["log_dirs"],
                    "replicas": self.counts(broker),
                    "registered_offset": broker["registered_offset"],
                    "unfenced_offset": broker["unfenced_offset"],
                    "assignments_complete_offset": broker["assignments_complete_offset"],
                    "unfenced_early": broker["unfenced_early"],
                    "under_replicated": sum(id_ in _out_of_isr(each) for each in partitions),
                }
                for id_, broker in sorted(self.brokers.items())
            ],
            "events": self.events,
            "under_replicated": sum(bool(_out_of_isr(each)) for each in partitions),
            "leaderless": sum(each["leader"] == _NO_LEADER for each in partitions),
            "reassigning": sum(bool(each["adding"] or each["removing"]) for each in partitions),
            "controllers": [each for _, each in sorted(self.controllers.items())],
        }


_CHANGES: dict[str, Callable[[_Cluster, Record], None]] = {
    "REGISTER_BROKER_RECORD": _Cluster.register,
    "BROKER_REGISTRATION_CHANGE_RECORD": _Cluster.change_registration,
    "UNREGISTER_BROKER_RECORD": _Cluster.unregister,
    "REGISTER_CONTROLLER_RECORD": _Cluster.register_controller,
    "TOPIC_RECORD": _Cluster.create_topic,
    "REMOVE_TOPIC_RECORD": _Cluster.remove_topic,
    "PARTITION_RECORD": _Cluster.create_partition,
    "PARTITION_CHANGE_RECORD": _Cluster.change_partition,
    "ZK_MIGRATION_STATE_RECORD": _Cluster.migration,
}

TOLD = frozenset(
    {
        *_CHANGES,
        "BEGIN_TRANSACTION_RECORD",
        "END_TRANSACTION_RECORD",
        "ABORT_TRANSACTION_RECORD",
    }
)
"""The kinds of records that the contract covers; other records do not change its result."""


def _replica_state(directory: str, log_dirs: Sequence[str]) -> str:
    """Name a replica's state; "offline" is DirectoryId.isOnline's: named dirs, and none is it."""
    if directory in _RESERVED:
        return _RESERVED[directory]
    return "offline" if log_dirs and directory not in log_dirs else "assigned"


def _out_of_isr(partition: Json) -> list[int]:
    return [each for each in partition["replicas"] if each not in partition["isr"]]


def _directories(
    named: Sequence[str] | None, replicas: Sequence[int], record: Record
) -> Sequence[str]:
    """PartitionRegistration.defaultToMigrating: none, or none but MIGRATING, fits any number."""
    if all(directory == MIGRATING for directory in named or ()):
        return [MIGRATING] * len(replicas)
    directories = list(named or ())
    _demand(len(directories) == len(replicas), record, "replicas and directories do not pair")
    return directories


def _demand(holds: bool, record: Record, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"offset {record.offset}: {otherwise}")
