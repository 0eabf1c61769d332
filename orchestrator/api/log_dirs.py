"""The JSON of `log-dirs`, and that of Kafka's `kafka-log-dirs.sh --describe`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from pydantic import Field

from migration.assessment.failed_directories import failed_directories
from migration.comparison.result import FILE, Identity
from migration.image.summary import ClusterSummary
from migration.observed.log_dirs import STORAGE_ERROR, LogDirState
from migration.observed.probed import Unknown
from orchestrator.api.shape import Moment, Row
from streams.kafka.broker_values import LogDirAnswer, ReplicaPlace
from streams.probe.log_dirs import BrokerLogDirs

_Ids: TypeAlias = Mapping[str, tuple[str | None, str]]
"""The directory id of each path, None if it has none, and how it is known."""
_LAG_UNKNOWN: Final = -1
_STATES: Final = {0: LogDirState.ONLINE, STORAGE_ERROR: LogDirState.OFFLINE}
_JAVA_ERRORS: Final = {
    0: None,
    STORAGE_ERROR: "org.apache.kafka.common.errors.KafkaStorageException",
}
_OTHER_JAVA_ERROR: Final = "org.apache.kafka.common.errors.UnknownServerException"
"""A broker returns it for any other failure (ReplicaManager.describeLogDirs)."""


class ReplicaRow(Row):
    """A replica in a directory.

    Attributes:
        lag: in messages; of a future replica behind the current one; null: the broker does not
            know it.
        future: whether a move between directories fills it.
    """

    topic: str
    partition: int
    bytes: int
    lag: int | None = Field(serialization_alias="offset_lag")
    future: bool


class LogDirRow(Row):
    """A log directory.

    Attributes:
        directory: its id; null: it has none, or it is unknown.
        state: by the broker's answer alone.
        directory_known_by: `meta.properties`, read on the broker's host; `replicas`: the metadata
            log assigns most of its replicas to the id; null: unknown.
        error: 0, or Kafka's error code; null: the broker does not answer.
        partitions: null: unknown, because the directory is not online.
    """

    path: str
    directory: str | None
    directory_known_by: str | None
    state: LogDirState
    error: int | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    partitions: tuple[ReplicaRow, ...] | None = None

    @property
    def current(self) -> tuple[ReplicaRow, ...]:
        """Its replicas without the future ones."""
        return tuple(each for each in self.partitions or () if not each.future)

    @property
    def futures(self) -> tuple[ReplicaRow, ...]:
        return tuple(each for each in self.partitions or () if each.future)


class BrokerLogDirsRow(Row):
    """The log directories of a broker.

    Attributes:
        endpoint: null: no broker lists it as alive.
        unknown: why it does not describe them; they are then those of its last stored answer.
    """

    id: int
    endpoint: str | None
    unknown: str | None
    log_dirs: tuple[LogDirRow, ...]


class LogDirsRow(Row):
    """The log directories of a cluster.

    Attributes:
        metadata_offset: of the stored state, the source of the ids that are not read now; null:
            there is none.
        observed_ms: the time of that offset.
        notes: problems with the ids, and failures in the stored state that the brokers contradict.
    """

    cluster: str
    cluster_id: str | None
    brokers: tuple[BrokerLogDirsRow, ...]
    metadata_offset: int | None
    observed_ms: Moment | None
    notes: tuple[str, ...]

    def missing(self) -> Iterator[str]:
        """Yield what is unknown: the brokers and directories that are not described, and why."""
        for broker in self.brokers:
            if broker.unknown is not None:
                yield f"broker {broker.id} does not describe its log directories: {broker.unknown}"
                continue
            for each in broker.log_dirs:
                if each.state is LogDirState.UNKNOWN:
                    yield f"broker {broker.id} does not describe {each.path}: error {each.error}"


def log_dirs_row(
    cluster: str,
    cluster_id: str | None,
    answers: Iterable[BrokerLogDirs],
    stored: ClusterSummary | None,
    topics: Collection[str],
    notes: Iterable[str] = (),
) -> LogDirsRow:
    """Return the answers joined with the stored state; `topics`: only these, if there are any."""
    answers = tuple(answers)
    ids = {} if stored is None else stored.directory_ids()
    rows = tuple(_broker(each, stored, ids.get(each.id, {}), topics) for each in answers)
    return LogDirsRow(
        cluster=cluster,
        cluster_id=cluster_id,
        brokers=rows,
        metadata_offset=None if stored is None else stored.metadata_offset,
        observed_ms=None if stored is None else stored.observed_ms,
        notes=(*notes, *_notes(answers, rows, stored)),
    )


def kafka_json(row: LogDirsRow) -> dict[str, object]:
    """Return what Kafka's tool (LogDirsCommand) prints, without the brokers that do not answer."""
    return {
        "version": 1,
        "brokers": [
            {"broker": broker.id, "logDirs": [_kafka_log_dir(each) for each in broker.log_dirs]}
            for broker in row.brokers
            if broker.unknown is None
        ],
    }


def _kafka_log_dir(row: LogDirRow) -> dict[str, object]:
    return {
        "logDir": row.path,
        "error": _JAVA_ERRORS.get(row.error or 0, _OTHER_JAVA_ERROR),
        "partitions": [
            {
                "partition": f"{each.topic}-{each.partition}",
                "size": each.bytes,
                "offsetLag": _LAG_UNKNOWN if each.lag is None else each.lag,
                "isFuture": each.future,
            }
            for each in row.partitions or ()
        ],
    }


def _notes(
    answers: Iterable[BrokerLogDirs],
    rows: Iterable[BrokerLogDirsRow],
    stored: ClusterSummary | None,
) -> Iterator[str]:
    own = {
        (each.id, path): local
        for each in answers
        for path, local in each.local.items()
        if local.is_own
    }
    yield from (local.trouble for local in own.values() if local.trouble)
    yield from (
        f"broker {row.id} now describes {each.path} as online, but in the stored state it is"
        f" {failed.how}: check it on the broker's host"
        for failed in (() if stored is None else failed_directories(stored))
        for row in rows
        for each in row.log_dirs
        if row.id == failed.broker and each.state is LogDirState.ONLINE
        if (failed.path or failed.directory or "") in (each.path, each.directory)
    )
    others = [d for row in rows for d in row.log_dirs if (row.id, d.path) not in own]
    if stored is not None and any(each.directory is not None for each in others):
        yield (
            "ids that are not read on this host now are those of the stored state, as of metadata"
            f" offset {stored.metadata_offset}"
        )
    elif stored is None and others:
        yield (
            "meta.properties is read on the broker's own host only; the other ids are unknown here"
            " until `kraftgate run` has compared the directories with the metadata log"
        )


def _broker(
    answer: BrokerLogDirs,
    stored: ClusterSummary | None,
    known: Mapping[str, Identity],
    topics: Collection[str],
) -> BrokerLogDirsRow:
    read = {path: each.directory_id for path, each in answer.local.items() if each.is_own}
    bad = {path for path, each in answer.local.items() if each.has_bad_file}
    ids: dict[str, tuple[str | None, str]] = {
        path: (each.directory, each.by)
        for path, each in known.items()
        if each.directory not in read.values() and not (path in bad and each.by == FILE)
    }
    ids.update((path, (directory, FILE)) for path, directory in read.items())
    described = answer.log_dirs
    if isinstance(described, Unknown):
        rows = [_not_described(path, ids) for path in _stored_paths(stored, answer.id)]
    else:
        rows = [_described(each, ids, topics) for each in described]
    return BrokerLogDirsRow(
        id=answer.id,
        endpoint=None if answer.endpoint is None else str(answer.endpoint),
        unknown=described.why if isinstance(described, Unknown) else None,
        log_dirs=tuple(sorted(rows, key=lambda each: each.path)),
    )


def _described(answer: LogDirAnswer, ids: _Ids, topics: Collection[str]) -> LogDirRow:
    directory, known_by = ids.get(answer.path, (None, None))
    state = _STATES.get(answer.error, LogDirState.UNKNOWN)
    wanted = sorted(each for each in answer.replicas if not topics or each.topic in topics)
    return LogDirRow.from_facts(
        answer,
        directory=directory,
        directory_known_by=known_by,
        state=state,
        partitions=tuple(map(_replica, wanted)) if state is LogDirState.ONLINE else None,
    )


def _not_described(path: str, ids: _Ids) -> LogDirRow:
    directory, known_by = ids.get(path, (None, None))
    return LogDirRow(
        path=path, directory=directory, directory_known_by=known_by, state=LogDirState.UNKNOWN
    )


def _replica(place: ReplicaPlace) -> ReplicaRow:
    return ReplicaRow.from_facts(place, lag=None if place.lag == _LAG_UNKNOWN else place.lag)


def _stored_paths(stored: ClusterSummary | None, broker: int) -> tuple[str, ...]:
    known = None if stored is None else stored.broker_disks.get(broker)
    return () if known is None else tuple(each.path for each in known.log_dirs)
