"""The next image: cluster-wide records and the shards' reports of one batch, in metadata order.

Exactly what happens between two records of a broker matters here: how many of its replicas were
pending when Kafka unfenced it, and with which record the last one got its directory. Shards tell
the former as movements before each barrier, the latter as crossings; both are merged by offset.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from migration import brokers as broker_rules
from migration.brokers import Broker, Early, Moment
from migration.directory_ids import DirectoryId, to_text
from migration.image import ClusterImage, Provenance
from migration.phases import COPY_TRANSACTION, phase_of
from migration.records import (
    AbortTransaction,
    BeginTransaction,
    BrokerRegistrationChange,
    EndTransaction,
    FeatureLevel,
    FenceBroker,
    LeaderChange,
    RegisterBroker,
    RegisterController,
    UnfenceBroker,
    Unknown,
    UnregisterBroker,
    ZkMigrationState,
)
from migration.shard import Note, ShardReport, Stamped
from migration.summary import Event, Mode, Phase
from migration.transactions import Admission
from migration.transitions import Crossing, Movement


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch of a cluster's log, as the shards and the source tell it.

    Attributes:
        start: offset of the first record that the batch may hold.
        end: the last record of the batch.
        records: cluster-wide records with what becomes of each, in metadata order; for a snapshot
            all stand at `end`.
        reports: by shard.
        snapshot: the records are a snapshot's, which replaces what was known.
    """

    start: int
    end: Provenance
    records: Sequence[tuple[Stamped, Admission]]
    reports: Mapping[int, ShardReport]
    snapshot: bool = False


class BatchOutOfOrder(Exception):
    """A batch does not follow the image: the store and the checkpoint do not belong together."""


def advance(image: ClusterImage, batch: Batch) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Make the next image, and tell the events on the way, in metadata order.

    Raises:
        BatchOutOfOrder: the batch starts before the image's end.
    """
    at = image.provenance
    if at is not None and not batch.snapshot and batch.start <= at.offset:
        raise BatchOutOfOrder(
            f"the batch starts at metadata offset {batch.start}, "
            f"the image already holds up to {at.offset}"
        )
    step = _Step(image, batch)
    if batch.snapshot:
        step.load_snapshot()
    else:
        step.follow_log()
    return step.finish()


class _Step:
    """The mutable working copy between two images."""

    def __init__(self, image: ClusterImage, batch: Batch) -> None:
        self.before = image
        self.batch = batch
        self.events: list[Event] = []
        self.brokers: dict[int, Broker] = dict(image.brokers)
        self.unknown = dict(image.unknown_records)
        self.held_back = list(image.held_back)
        self.zk_migration_state = image.zk_migration_state
        self.copying = image.copying
        self.active_controller = image.active_controller
        self.metadata_version = image.metadata_version
        self.pending = {each: image.pending(each) for each in image.directories}
        self.shards = {each: set(shards) for each, shards in image.pending_shards.items()}
        self.phase = image.phase
        self.movements = _movements(batch.reports.values())

    # -- the log ------------------------------------------------------------------------------

    def follow_log(self) -> None:
        """Merge records, movements and crossings by offset."""
        crossings = sorted(
            (crossing.offset, shard, crossing)
            for shard, report in self.batch.reports.items()
            for crossing in report.crossings
        )
        notes = sorted(
            (note for report in self.batch.reports.values() for note in report.notes),
            key=lambda note: note.offset,
        )
        todo: list[tuple[int, int, object]] = []
        todo += [(stamped.offset, 1, (stamped, what)) for stamped, what in self.batch.records]
        todo += [
            (offset, 2, list(same)) for offset, same in groupby(crossings, key=lambda each: each[0])
        ]
        todo += [(note.offset, 3, note) for note in notes]
        todo.sort(key=lambda each: (each[0], each[1]))
        barriers = sorted(self.movements)
        for offset, kind, what in todo:
            while barriers and barriers[0] <= offset:
                self._move(barriers.pop(0))
            if kind == 1:
                self._admit(*what)  # type: ignore[misc]
            elif kind == 2:
                self._cross(what)  # type: ignore[arg-type]
            else:
                self._note(what)  # type: ignore[arg-type]
        for barrier in barriers:
            self._move(barrier)

    def _move(self, barrier: int) -> None:
        for broker, movement in self.movements.get(barrier, {}).items():
            self.pending[broker] = self.pending.get(broker, 0) + movement.net
            known = self.brokers.get(broker)
            if known is not None:
                self.brokers[broker] = broker_rules.progressed(known, movement)

    def _admit(self, stamped: Stamped, what: Admission) -> None:
        if isinstance(stamped.record, BeginTransaction):
            self._transaction_opened(stamped, stamped.record)
        elif what is Admission.HELD:
            self.held_back.append(stamped)
        elif what is Admission.NOW:
            self._apply(stamped)
        else:
            self._transaction_over(stamped, what)

    def _transaction_opened(self, stamped: Stamped, record: BeginTransaction) -> None:
        self.copying = record.name == COPY_TRANSACTION
        self._event(
            stamped.offset, stamped.timestamp_ms, "transaction_opened", name=record.name or ""
        )
        self._phase_check(stamped)

    def _transaction_over(self, stamped: Stamped, what: Admission) -> None:
        held_back, self.held_back = self.held_back, []
        self.copying = False
        if what is Admission.RELEASE:
            for each in held_back:
                self._apply(each, quiet_phase=True)
        record = stamped.record
        if isinstance(record, AbortTransaction):
            self._event(
                stamped.offset,
                stamped.timestamp_ms,
                "transaction_aborted",
                reason=record.reason or "",
                dropped=len(held_back),
            )
        elif isinstance(record, EndTransaction):
            self._event(stamped.offset, stamped.timestamp_ms, "transaction_ended")
        self._phase_check(stamped)

    def _apply(self, stamped: Stamped, *, quiet_phase: bool = False) -> None:
        match stamped.record:
            case RegisterBroker():
                self._registered(stamped, stamped.record)
            case BrokerRegistrationChange():
                self._changed(stamped, stamped.record)
            case UnfenceBroker():
                self._unfenced(stamped, stamped.record.broker_id, stamped.record.broker_epoch)
            case FenceBroker():
                self._fenced(stamped, stamped.record.broker_id, stamped.record.broker_epoch)
            case UnregisterBroker():
                self._unregistered(stamped, stamped.record)
            case _:
                self._cluster_wide(stamped)
        if not quiet_phase:
            self._phase_check(stamped)

    def _cluster_wide(self, stamped: Stamped) -> None:
        offset, moment, record = stamped
        match record:
            case ZkMigrationState():
                self.zk_migration_state = record.zk_migration_state
            case FeatureLevel(name="metadata.version"):
                if record.feature_level != self.metadata_version:
                    self.metadata_version = record.feature_level
                    self._event(offset, moment, "metadata_version", level=record.feature_level)
            case LeaderChange():
                self.active_controller = record.leader_id
                self._event(offset, moment, "controller_elected", controller=record.leader_id)
            case RegisterController():
                self._event(
                    offset,
                    moment,
                    "controller_registered",
                    controller=record.controller_id,
                    zk_migration_ready=record.zk_migration_ready,
                )
            case Unknown():
                if record.api_key not in self.unknown:
                    self._event(offset, moment, "unknown_record", api_key=record.api_key)
                self.unknown[record.api_key] = self.unknown.get(record.api_key, 0) + 1
            case _:
                pass

    # -- brokers ------------------------------------------------------------------------------

    def _registered(self, stamped: Stamped, record: RegisterBroker) -> None:
        at = _moment(stamped)
        pending = self.pending.get(record.broker_id, 0)
        before = self.brokers.get(record.broker_id)
        if before is not None and before.incarnation == record.incarnation_id:
            self._amended(at, before, record)
            return
        broker = broker_rules.registered(record, at, pending)
        self.brokers[broker.id] = broker
        self._event(
            at.offset,
            at.timestamp_ms,
            "broker_registered",
            broker.id,
            epoch=broker.epoch,
            mode=str(broker.mode),
            fenced=record.fenced,
            pending=pending,
            log_dirs=[to_text(each) for each in broker.log_dirs],
        )
        if before is not None:
            self._directories_changed(at, broker.id, before.log_dirs, broker.log_dirs)
        if broker.held:
            self._event(at.offset, at.timestamp_ms, "broker_held", broker.id, pending=pending)
        elif broker.complete is not None:
            self._event(at.offset, at.timestamp_ms, "assignments_complete", broker.id)
        if not record.fenced:
            self._tell_unfenced(at, broker, pending)

    def _amended(self, at: Moment, before: Broker, record: RegisterBroker) -> None:
        self.brokers[before.id] = broker_rules.amended(before, record)
        self._event(
            at.offset,
            at.timestamp_ms,
            "broker_amended",
            before.id,
            epoch=record.broker_epoch,
            log_dirs=[to_text(each) for each in record.log_dirs],
        )
        self._directories_changed(at, before.id, before.log_dirs, record.log_dirs)

    def _changed(self, stamped: Stamped, record: BrokerRegistrationChange) -> None:
        at = _moment(stamped)
        broker = self._current(at, record.broker_id, record.broker_epoch)
        if broker is None:
            return
        if record.log_dirs:
            self._directories_changed(at, broker.id, broker.log_dirs, record.log_dirs)
            self.brokers[broker.id] = broker = replace(broker, log_dirs=record.log_dirs)
        if record.in_controlled_shutdown == 1 and not broker.in_controlled_shutdown:
            self.brokers[broker.id] = replace(broker, in_controlled_shutdown=True)
            self._event(at.offset, at.timestamp_ms, "broker_controlled_shutdown", broker.id)
        if record.fenced == 1:
            self._fenced(stamped, record.broker_id, record.broker_epoch)
        elif record.fenced == -1:
            self._unfenced(stamped, record.broker_id, record.broker_epoch)

    def _unfenced(self, stamped: Stamped, broker_id: int, epoch: int) -> None:
        at = _moment(stamped)
        broker = self._current(at, broker_id, epoch)
        if broker is None:
            return
        pending = self.pending.get(broker_id, 0)
        self.brokers[broker_id] = broker_rules.unfence(broker, at, pending)
        self._tell_unfenced(at, broker, pending)

    def _tell_unfenced(self, at: Moment, broker: Broker, pending: int) -> None:
        self._event(at.offset, at.timestamp_ms, "broker_unfenced", broker.id)
        if broker.held:
            self._event(
                at.offset, at.timestamp_ms, "broker_unfenced_early", broker.id, pending=pending
            )

    def _fenced(self, stamped: Stamped, broker_id: int, epoch: int) -> None:
        at = _moment(stamped)
        broker = self._current(at, broker_id, epoch)
        if broker is None:
            return
        self.brokers[broker_id] = replace(broker, fenced=True)
        self._event(at.offset, at.timestamp_ms, "broker_fenced", broker_id)

    def _unregistered(self, stamped: Stamped, record: UnregisterBroker) -> None:
        at = _moment(stamped)
        if self._current(at, record.broker_id, record.broker_epoch) is None:
            return
        del self.brokers[record.broker_id]
        self._event(at.offset, at.timestamp_ms, "broker_unregistered", record.broker_id)

    def _current(self, at: Moment, broker_id: int, epoch: int) -> Broker | None:
        """The broker, if the record speaks of its latest registration (as ClusterDelta checks)."""
        broker = self.brokers.get(broker_id)
        if broker is not None and broker.epoch == epoch:
            return broker
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        self._event(
            at.offset,
            at.timestamp_ms,
            "record_contradicts",
            broker_id,
            reason=f"the record speaks of epoch {epoch}, the broker is {known}",
        )
        return None

    def _directories_changed(
        self,
        at: Moment,
        broker: int,
        before: tuple[DirectoryId, ...],
        after: tuple[DirectoryId, ...],
    ) -> None:
        gone = [to_text(each) for each in before if each not in after]
        new = [to_text(each) for each in after if each not in before]
        if gone:
            self._event(
                at.offset,
                at.timestamp_ms,
                "log_dirs_lost",
                broker,
                directories=gone,
                left=len(after),
            )
        if new and before:
            self._event(at.offset, at.timestamp_ms, "log_dirs_added", broker, directories=new)

    def _cross(self, crossings: list[tuple[int, int, Crossing]]) -> None:
        """Take all crossings at one record; whoever has no pending shard left is complete."""
        touched: dict[int, Moment] = {}
        for _, shard, crossing in crossings:
            broker = crossing.broker
            shards = self.shards.setdefault(broker, set())
            if crossing.pending:
                shards.add(shard)
            else:
                shards.discard(shard)
            touched[broker] = Moment(
                offset=crossing.offset,
                timestamp_ms=crossing.timestamp_ms,
            )
        for broker_id, at in touched.items():
            if not self.shards[broker_id]:
                self._completed(broker_id, at)

    def _completed(self, broker_id: int, at: Moment) -> None:
        broker = self.brokers.get(broker_id)
        if broker is None or not broker.held:
            return
        broker = broker_rules.complete(broker, at)
        self.brokers[broker_id] = broker
        early = broker.early.told() if broker.early else None
        self._event(
            at.offset,
            at.timestamp_ms,
            "assignments_complete",
            broker_id,
            held_ms=at.timestamp_ms - broker.registered.timestamp_ms
            if broker.registered.timestamp_ms
            else None,
            unfenced_early_ms=early.duration_ms if early else None,
        )

    # -- snapshots ----------------------------------------------------------------------------

    def load_snapshot(self) -> None:
        """Replace what was known; what a snapshot cannot say (when, how long) stays unknown.

        A snapshot is one event: what changed before it did not happen at its end. A broker whose
        registration is the one already known keeps its history.
        """
        end = self.batch.end
        at = Moment(offset=end.offset, timestamp_ms=end.timestamp_ms)
        self.held_back = []
        self.copying = False
        for barrier in list(self.movements):
            self._move(barrier)
        for shard, report in self.batch.reports.items():
            for crossing in report.crossings:
                shards = self.shards.setdefault(crossing.broker, set())
                (shards.add if crossing.pending else shards.discard)(shard)
        known, self.brokers = self.brokers, {}
        for stamped, _ in self.batch.records:
            record = stamped.record
            if isinstance(record, RegisterBroker):
                self._from_snapshot(at, record, known.get(record.broker_id))
            else:
                self._cluster_wide(stamped)
        self.events.clear()
        self.phase = self._phase()
        came_from = self.before.provenance
        self._event(
            at.offset,
            at.timestamp_ms,
            "snapshot_loaded",
            skipped=at.offset - came_from.offset if came_from else None,
            phase=str(self.phase),
            held=[each.id for each in self.brokers.values() if each.held],
            unfenced_early=[each.id for each in self.brokers.values() if each.early],
            unregistered=sorted(known.keys() - self.brokers.keys()),
        )
        for report in self.batch.reports.values():
            for note in report.notes:
                if note.kind == "record_contradicts":
                    self._note(note)

    def _from_snapshot(self, at: Moment, record: RegisterBroker, known: Broker | None) -> None:
        pending = self.pending.get(record.broker_id, 0)
        mode = Mode.MIGRATING if record.is_migrating_zk_broker else Mode.KRAFT
        same = known is not None and known.epoch == record.broker_epoch and known.mode is mode
        if known is not None and same:
            broker = replace(
                known,
                fenced=record.fenced,
                in_controlled_shutdown=record.in_controlled_shutdown,
                log_dirs=record.log_dirs,
            )
            if broker.held and not pending:
                broker = broker_rules.complete(broker, at)
        else:
            held = mode is Mode.KRAFT and pending > 0
            broker = Broker(
                id=record.broker_id,
                epoch=record.broker_epoch,
                incarnation=record.incarnation_id,
                mode=mode,
                fenced=record.fenced,
                in_controlled_shutdown=record.in_controlled_shutdown,
                log_dirs=record.log_dirs,
                # KRaft's broker epoch is the offset of the RegisterBrokerRecord
                # (ClusterControlManager.registerBroker); its time is not in a snapshot.
                registered=Moment(offset=record.broker_epoch, timestamp_ms=0),
                held=held,
                unfenced_before=not record.fenced,
            )
        if broker.held and not record.fenced and broker.early is None:
            broker = replace(broker, early=Early(at=None, pending=pending))
        self.brokers[broker.id] = broker

    # -- the end ------------------------------------------------------------------------------

    def finish(self) -> tuple[ClusterImage, tuple[Event, ...]]:
        """The next image, and the events told."""
        reports = self.batch.reports.values()
        image = ClusterImage(
            provenance=self.batch.end,
            zk_migration_state=self.zk_migration_state,
            copying=self.copying,
            held_back=tuple(self.held_back),
            active_controller=self.active_controller,
            metadata_version=self.metadata_version,
            topics=self.before.topics + sum(report.topics for report in reports),
            partitions=self.before.partitions + sum(report.partitions for report in reports),
            brokers=self.brokers,
            directories=_recounted(self.before.directories, reports),
            pending_shards={
                broker: frozenset(shards) for broker, shards in self.shards.items() if shards
            },
            unknown_records=self.unknown,
        )
        # Held-back records take effect at their transaction's end but stand where they were.
        return image, tuple(sorted(self.events, key=lambda event: event.offset))

    def _note(self, note: Note) -> None:
        self.events.append(
            Event(
                offset=note.offset,
                timestamp_ms=note.timestamp_ms,
                kind=note.kind,
                fields=note.fields,
            )
        )

    def _phase(self) -> Phase:
        return phase_of(self.zk_migration_state, self.copying, self.brokers.values())

    def _phase_check(self, stamped: Stamped) -> None:
        phase = self._phase()
        if phase is not self.phase:
            self._event(
                stamped.offset,
                stamped.timestamp_ms,
                "phase_changed",
                was=str(self.phase),
                now=str(phase),
            )
            self.phase = phase

    def _event(
        self, offset: int, timestamp_ms: int, kind: str, broker: int | None = None, **fields: object
    ) -> None:
        self.events.append(
            Event(offset=offset, timestamp_ms=timestamp_ms, kind=kind, broker=broker, fields=fields)
        )


def _moment(stamped: Stamped) -> Moment:
    return Moment(offset=stamped.offset, timestamp_ms=stamped.timestamp_ms)


def _movements(reports: Iterable[ShardReport]) -> dict[int, dict[int, Movement]]:
    """Barrier -> broker -> movement, all shards together."""
    together: dict[int, dict[int, Movement]] = {}
    for report in reports:
        for (barrier, broker), movement in report.movements.items():
            at = together.setdefault(barrier, {})
            at[broker] = at[broker].plus(movement) if broker in at else movement
    return together


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
