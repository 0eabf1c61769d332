"""The next image, from the cluster-wide records and the shards' reports of one batch.

Both are applied in metadata order, because the exact sequence of a broker's records matters: how
many replicas were pending when Kafka unfenced the broker, and which record assigned a directory to
the last one. The shards report the first as movements before each barrier and the second as
crossings; both are merged by offset.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from migration.image import wipe
from migration.image.brokers import BrokerSteps
from migration.image.cluster import ClusterImage, Controller, Provenance
from migration.image.phases import COPY_TRANSACTION, phase_of
from migration.image.summary import WITHOUT_ZOOKEEPER, MetadataLost, Phase, UncleanElection
from migration.metadata.directory_ids import DirectoryId
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Moment, Source
from migration.metadata.records import (
    AbortTransaction,
    BeginTransaction,
    FeatureLevel,
    LeaderChange,
    RegisterBroker,
    RegisterController,
    Stamped,
    Unknown,
    ZkMigrationState,
)
from migration.metadata.transactions import Admission
from migration.observed.log_dirs import latest
from migration.shard.report import Note, ShardReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch of a cluster's log, as the shards and the source report it.

    Attributes:
        log: the metadata log of the batch. If it differs from the image's, the batch is empty and
            the image steps to that log.
        start: the offset after the end of the cluster's previous batch, also of a snapshot.
        end: the last record of the batch.
        records: cluster-wide records and their admission, in metadata order; all records of a
            snapshot have the offset `end`.
        reports: by shard.
        snapshot: the records are a snapshot's and replace the previous state.
    """

    log: int
    start: int
    end: Provenance
    records: Sequence[tuple[Stamped, Admission]]
    reports: Mapping[int, ShardReport]
    snapshot: bool = False


class BatchOutOfOrder(Exception):
    """The batch does not follow the image: the store and the checkpoint do not match."""


def advance(image: ClusterImage, batch: Batch) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Return the next image, and the events of the batch in metadata order.

    Raises:
        BatchOutOfOrder: the batch does not start after the image's end, or is not of its log.
    """
    if batch.log != image.log and (batch.log != image.log + 1 or batch.records):
        raise BatchOutOfOrder(
            f"the batch is of metadata log number {batch.log}, the image of {image.log}"
        )
    at = image.provenance
    if at is not None and batch.start != at.offset + 1:
        raise BatchOutOfOrder(
            f"the batch starts at metadata offset {batch.start}, the image ends at {at.offset}"
        )
    if batch.log != image.log:
        return _next_log(image, batch.log, batch.end.timestamp_ms)
    step = _Step(image, batch)
    if batch.snapshot:
        step.load_snapshot()
    else:
        step.follow_log()
    return step.finish()


class _Step:
    """The mutable working copy between two images."""

    def __init__(self, image: ClusterImage, batch: Batch) -> None:
        self._before = image
        self._batch = batch
        self._events = EventCollector(Source.KRAFT_METADATA)
        self._brokers = BrokerSteps(image, batch.reports, self._events)
        self._unknown = dict(image.unknown_records)
        self._held_back = list(image.held_back)
        self._migration_state = image.migration_state
        self._active_controller = image.active_controller
        self._metadata_version = image.metadata_version
        self._controllers = dict(image.controllers)
        self._reported_phase = image.phase

    def follow_log(self) -> None:
        """Apply records and the shards' movements, crossings and notes, merged by offset."""
        barriers = list(self._brokers.barriers)
        for offset, _, take in sorted(self._to_take(), key=lambda each: each[:2]):
            while barriers and barriers[0] <= offset:
                self._brokers.pass_(barriers.pop(0))
            take()
        for barrier in barriers:
            self._brokers.pass_(barrier)

    def load_snapshot(self) -> None:
        """Replace the previous state; times and durations, which a snapshot lacks, stay unknown.

        A snapshot is one event: the changes that it summarizes did not happen at its end. No
        snapshot contains the active controller (LeaderChange).
        """
        end = self._batch.end
        at = Moment(offset=end.offset, timestamp_ms=end.timestamp_ms)
        came_from = self._before.provenance
        for barrier in self._brokers.barriers:
            self._brokers.pass_(barrier)
        for shard, report in self._batch.reports.items():
            for crossing in report.crossings:
                self._brokers.note_pending(shard, crossing)
        records = [stamped.record for stamped, _ in self._batch.records]
        gone = self._brokers.replace(
            at, (record for record in records if isinstance(record, RegisterBroker))
        )
        quiet, self._events = self._events, EventCollector(Source.KRAFT_METADATA)
        known, self._controllers = self._controllers, {}
        self._unknown = {}
        self._active_controller = None
        # Its records have the time of its file, which may be later than a rollback.
        after_ms = came_from.timestamp_ms if came_from else 0
        for stamped, _ in self._batch.records:
            self._cluster_wide(stamped._replace(timestamp_ms=after_ms))
        self._controllers = {
            each.id: each.in_snapshot(known.get(each.id)) for each in self._controllers.values()
        }
        self._events = quiet
        self._held_back = []
        self._migration_state = replace(self._migration_state, copying=False)
        brokers = self._brokers.brokers.values()
        self._reported_phase = self._phase()
        self._events.add_at(
            at,
            EventKind.SNAPSHOT_LOADED,
            skipped=at.offset - came_from.offset if came_from else None,
            phase=str(self._reported_phase),
            held=[each.id for each in brokers if each.held],
            fenced=[each.id for each in brokers if each.fenced],
            unfenced_early=[each.id for each in brokers if each.early],
            unregistered=gone,
        )
        for report in self._batch.reports.values():
            for note in report.notes:
                if note.kind == EventKind.UNCLEAN_ELECTION:
                    self._events.add_before(at.offset, note.kind, **note.fields)
                elif note.kind == EventKind.RECORD_CONTRADICTS:
                    self._note(note)

    def finish(self) -> tuple[ClusterImage, tuple[Event, ...]]:
        reports = self._batch.reports.values()
        # A completed copy starts from ZooKeeper's content: an earlier wipe no longer matters.
        copied = self._phase() in (Phase.HYBRID, Phase.DUAL_WRITE, Phase.FINALIZED)
        # Records of a transaction take effect at its end; their events have the records' offsets.
        in_order = sorted(self._events.events, key=lambda event: event.offset or 0)
        image = replace(
            self._before,
            provenance=self._batch.end,
            wiped=None if copied else self._before.wiped,
            migration_state=self._migration_state,
            held_back=tuple(self._held_back),
            active_controller=self._active_controller,
            metadata_version=self._metadata_version,
            topics=self._before.topics + sum(report.topics for report in reports),
            partitions=self._before.partitions + sum(report.partitions for report in reports),
            brokers=self._brokers.brokers,
            left=frozenset(self._brokers.left),
            departed=self._brokers.departed,
            directories=_recounted(self._before.directories, reports),
            pending_shards={
                broker: frozenset(shards)
                for broker, shards in self._brokers.shards.items()
                if shards
            },
            replication=self._before.replication.plus(each.replication for each in reports),
            controllers=self._controllers,
            unknown_records=self._unknown,
            contradiction=self._contradiction(in_order),
            assigned_ms=self._assigned_ms(),
            unclean=self._unclean(),
        )
        is_other_phase = image.phase is not self._before.phase
        skipped = wipe.skipped(self._before, image) if is_other_phase else ()
        return image, (*in_order, *skipped)

    def _contradiction(self, events: Iterable[Event]) -> str | None:
        """Return the first record that contradicts the state; a snapshot replaces the state."""
        found = (
            f"the record at metadata offset {each.offset} contradicts the state:"
            f" {each.fields['reason']}"
            for each in events
            if each.kind == EventKind.RECORD_CONTRADICTS
        )
        before = None if self._batch.snapshot else self._before.contradiction
        return before or next(found, None)

    def _assigned_ms(self) -> Mapping[int, int]:
        """Return when a replica of each broker was last assigned; a snapshot does not show it."""
        found = dict(self._before.assigned_ms)
        for report in self._batch.reports.values() if not self._batch.snapshot else ():
            for broker, at_ms in report.assigned_ms.items():
                found[broker] = max(at_ms, found.get(broker, 0))
        return found

    def _unclean(self) -> tuple[UncleanElection, ...]:
        """Return the unclean elections; that of a snapshot is older than the snapshot."""
        notes = [note for report in self._batch.reports.values() for note in report.notes]
        found = [
            UncleanElection(
                topic=str(note.fields["topic"]),
                partition=int(note.fields["partition"]),
                broker=int(note.fields["leader"]),
                isr=str(note.fields["isr"]),
                at_ms=None if self._batch.snapshot else note.timestamp_ms,
            )
            for note in sorted(notes, key=lambda each: each.offset)
            if note.kind == EventKind.UNCLEAN_ELECTION
        ]
        return latest((*self._before.unclean, *found))

    def _to_take(self) -> Iterable[tuple[int, int, Callable[[], None]]]:
        """Yield the changes to apply: offset, rank among those of one offset, function."""
        for stamped, what in self._batch.records:
            yield stamped.offset, 1, partial(self._admit, stamped, what)
        crossings = sorted(
            (crossing.offset, shard, crossing)
            for shard, report in self._batch.reports.items()
            for crossing in report.crossings
        )
        for offset, same in groupby(crossings, key=lambda each: each[0]):
            yield offset, 2, partial(self._brokers.cross, [each[1:] for each in same])
        for report in self._batch.reports.values():
            for note in report.notes:
                yield note.offset, 3, partial(self._note, note)

    def _note(self, note: Note) -> None:
        self._events.add_at(_moment(note), note.kind, **note.fields)

    def _admit(self, stamped: Stamped, what: Admission) -> None:
        if isinstance(stamped.record, BeginTransaction):
            name = stamped.record.name or ""
            copying = name == COPY_TRANSACTION
            self._migration_state = replace(self._migration_state, copying=copying)
            self._events.add_at(_moment(stamped), EventKind.TRANSACTION_OPENED, name=name)
        elif what is Admission.HELD:
            self._held_back.append(stamped)
        elif what is Admission.NOW:
            self._apply(stamped)
        else:
            self._transaction_over(stamped)
        self._phase_check(stamped)

    def _transaction_over(self, stamped: Stamped) -> None:
        held_back, self._held_back = self._held_back, []
        self._migration_state = replace(self._migration_state, copying=False)
        at, record = _moment(stamped), stamped.record
        if isinstance(record, AbortTransaction):
            reason = record.reason or ""
            dropped = len(held_back)
            self._events.add_at(at, EventKind.TRANSACTION_ABORTED, reason=reason, dropped=dropped)
            return
        for each in held_back:
            self._apply(each)
        self._events.add_at(at, EventKind.TRANSACTION_ENDED)

    def _apply(self, stamped: Stamped) -> None:
        if not self._brokers.apply(_moment(stamped), stamped.record):
            self._cluster_wide(stamped)

    def _cluster_wide(self, stamped: Stamped) -> None:
        at, record = _moment(stamped), stamped.record
        match record:
            case ZkMigrationState():
                self._migration_state = self._migration_state.now(
                    record.zk_migration_state, at.timestamp_ms
                )
                self._brokers.is_copied = self._migration_state.is_copied
            case FeatureLevel(name="metadata.version"):
                if record.feature_level != self._metadata_version:
                    self._metadata_version = record.feature_level
                    self._events.add_at(at, EventKind.METADATA_VERSION, level=record.feature_level)
            case LeaderChange():
                self._active_controller = record.leader_id
                self._events.add_at(at, EventKind.CONTROLLER_ELECTED, controller=record.leader_id)
            case RegisterController():
                self._controllers[record.controller_id] = Controller(
                    id=record.controller_id,
                    incarnation=record.incarnation_id,
                    zk_migration_ready=record.zk_migration_ready,
                    registered=at,
                    host=record.host,
                )
                self._events.add_at(
                    at,
                    EventKind.CONTROLLER_REGISTERED,
                    controller=record.controller_id,
                    zk_migration_ready=record.zk_migration_ready,
                )
            case Unknown():
                if record.api_key not in self._unknown:
                    self._events.add_at(at, EventKind.UNKNOWN_RECORD, api_key=record.api_key)
                self._unknown[record.api_key] = self._unknown.get(record.api_key, 0) + 1
            case _:
                pass

    def _phase(self) -> Phase:
        brokers = self._brokers.brokers.values()
        return phase_of(self._migration_state, brokers, self._before.zk_controller)

    def _phase_check(self, stamped: Stamped) -> None:
        phase = self._phase()
        if phase is not self._reported_phase:
            at = _moment(stamped)
            # A cluster that never had ZooKeeper was in no phase before.
            was = {} if phase is Phase.KRAFT else {"was": str(self._reported_phase)}
            self._events.add_at(at, EventKind.PHASE_CHANGED, **was, now=str(phase))
            self._reported_phase = phase


def _moment(of: Stamped | Note) -> Moment:
    return Moment(offset=of.offset, timestamp_ms=of.timestamp_ms)


def _recounted(
    before: Mapping[int, Mapping[DirectoryId, int]], reports: Iterable[ShardReport]
) -> dict[int, dict[DirectoryId, int]]:
    counts = {broker: dict(directories) for broker, directories in before.items()}
    for report in reports:
        for (broker, directory), change in report.directories.items():
            of_broker = counts.setdefault(broker, {})
            of_broker[directory] = of_broker.get(directory, 0) + change
    return {
        broker: kept
        for broker, directories in counts.items()
        if (kept := {each: count for each, count in directories.items() if count})
    }


def _next_log(image: ClusterImage, log: int, at_ms: int) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Step to the log with that number, before its first record.

    `at_ms`: the timestamp of its first record; 0: unknown.
    """
    after = ClusterImage(
        log=log,
        zookeeper=wipe.found_by_log(image.zookeeper, at_ms),
        vanished=image.vanished,
        wiped=image.wiped,
        metadata_lost=_lost(image, at_ms),
        unclean=image.unclean,
        disks=image.disks,
        jmx=image.jmx,
    )
    collected = EventCollector(Source.KRAFT_METADATA)
    collected.at_ms = at_ms or None
    collected.add(
        EventKind.METADATA_LOG_RESTARTED,
        log=log,
        was_offset=None if image.provenance is None else image.provenance.offset,
        was_phase=str(image.phase),
        topics=image.topics,
        partitions=image.partitions,
    )
    if after.phase is not image.phase:
        collected.add(EventKind.PHASE_CHANGED, was=str(image.phase), now=str(after.phase))
    return after, collected.events


def _lost(image: ClusterImage, at_ms: int) -> MetadataLost | None:
    """Return what is lost once another log, which began at that time, replaces the image's.

    While ZooKeeper has the metadata, none is lost. A loss remains: topics that are created again
    have other ids, and the spool refuses a log that it had before.
    """
    known = image.metadata_lost
    if image.phase not in WITHOUT_ZOOKEEPER or image.topics <= (known.topics if known else 0):
        return known
    return MetadataLost(
        phase=image.phase,
        topics=image.topics,
        partitions=image.partitions,
        at_ms=at_ms or None,
    )
