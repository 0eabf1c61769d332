"""A broker's registration and what follows: fenced, held, complete, unfenced early.

A broker is **held** from its KRaft registration until each of its replicas has a real directory id.
Kafka does not hold it (kafka-facts: KIP-858's fencing was not shipped) and may unfence it early.
The image records such an unfencing, with the number of replicas that were pending and its duration.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from migration.image.cluster import Broker, ClusterImage, Early, Gone
from migration.image.summary import Mode, Progress
from migration.metadata.directory_ids import MIGRATING, DirectoryId, is_reserved, to_text
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import EventCollector, Moment
from migration.metadata.records import (
    BrokerRegistrationChange,
    FenceBroker,
    Record,
    RegisterBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from migration.shard.report import Crossing, Movement, ShardReport, together

_NOTHING: Final[Mapping[DirectoryId, int]] = MappingProxyType({})
_CHANGES: Final = MappingProxyType({"fenced": (-1, 0, 1), "in_controlled_shutdown": (0, 1)})
"""The values of a BrokerRegistrationChangeRecord; Kafka raises an error at any other."""


def without(
    before: Broker | None,
    started: Broker,
    at: Moment,
    pending: int,
    migrating: int = 0,
    hosted: Mapping[DirectoryId, int] = _NOTHING,
    *,
    copied: bool,
) -> Gone | None:
    """Return the directories that are missing while some of the broker's replicas have none.

    A later start does not undo what this one may have recreated. If all pending replicas were
    `migrating`, none need have been: they may have been moved to other brokers since (H3).

    Before the copy, a broker in migration mode has replicas in ZooKeeper that the log lacks: this
    start recreates none of them, a later one may. If it has as many directories as before, a disk
    was replaced, and the broker copies its replicas from their leaders.

    `hosted`: of a broker that starts in migration mode, as in a rollback: it also recreates the
    replicas that are known to be in a missing directory (MigrationPropagator: isNew).
    """
    if before is None:
        return None
    now = started.log_dirs
    missed = {e: number for e, number in hosted.items() if not is_reserved(e) and e not in now}
    pending += sum(missed.values())
    kept = None if before.gone is None or before.gone.may_be_untouched else before.gone
    from_zookeeper = started.mode is Mode.MIGRATING and not started.reverted and not copied
    if not pending and (kept is not None or not from_zookeeper):
        return kept
    earlier = [each.directories for each in (before.failed, before.gone) if each is not None]
    had = dict.fromkeys(each for some in (before.log_dirs, *earlier, missed) for each in some)
    missing = tuple(each for each in had if each not in now)
    if not pending and len(now) >= len(had):
        return None
    if before.gone is not None and before.gone.pending:
        migrating = 0  # an earlier start may have recreated the replicas
    gone = Gone(directories=missing, pending=pending, at=at, migrating=migrating)
    return gone if missing else before.gone


def still_gone(broker: Broker) -> Gone | None:
    """Return the lost directories without which an unfenced broker runs.

    In KRaft mode a broker registers before it loads its logs: with two logs of one partition it
    ends, and is never unfenced.
    """
    return None if broker.gone is None else broker.gone.but(broker.log_dirs)


def unregistered(
    before: Broker | None, now: tuple[DirectoryId, ...], at: Moment
) -> Mapping[DirectoryId, Moment]:
    """Return each directory that the broker registered before `now`, but no longer, and since when.

    A registration before metadata.version 17 has no directories.
    """
    if before is None or not now:
        return {} if before is None else before.unregistered
    earlier = {**before.unregistered, **dict.fromkeys(before.log_dirs, at)}
    return {each: since for each, since in earlier.items() if each not in now}


def shrunk(broker: Broker, now: tuple[DirectoryId, ...], at: Moment, pending: int) -> Broker:
    """Return a running broker that reported failed directories (handleDirectoriesOffline).

    The controller does not move the leaders of replicas that have no known directory: it cannot
    detect that they were in a failed one.
    """
    lost = tuple(each for each in broker.log_dirs if each not in now)
    failed = broker.failed
    if lost and pending:
        earlier = failed.directories if failed is not None else ()
        failed = Gone(directories=(*lost, *earlier), pending=pending, at=at)
    return replace(broker, log_dirs=now, failed=failed, unregistered=unregistered(broker, now, at))


def reverted(mode: Mode, before: Broker | None) -> bool:
    """Return whether a broker that registers in this mode has left KRaft mode."""
    came_from_kraft = before is not None and (before.mode is Mode.KRAFT or before.reverted)
    return mode is Mode.MIGRATING and came_from_kraft


def mode_of(record: RegisterBroker) -> Mode:
    return Mode.MIGRATING if record.is_migrating_zk_broker else Mode.KRAFT


def incarnation(
    record: RegisterBroker,
    at: Moment,
    pending: int,
    before: Broker | None,
    departed: Broker | None,
) -> Broker:
    """Return a broker as its registration describes it.

    Args:
        record: its registration.
        at: the registration's moment.
        pending: number of the broker's replicas without a directory then.
        before: the registration that it replaces.
        departed: the last one, if it was removed: that reassigns no replica.
    """
    mode = mode_of(record)
    held = mode is Mode.KRAFT and pending > 0
    return Broker(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation=record.incarnation_id,
        mode=mode,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=record.log_dirs,
        registered=at,
        held=held,
        held_before_ms=_held_since_ms(before) if held else None,
        unregistered=unregistered(before or departed, record.log_dirs, at),
        host=record.host,
        rack=record.rack,
        supports=record.supports,
        reverted=reverted(mode, before),
    )


def _held_since_ms(before: Broker | None) -> int | None:
    """Return since when the registration that ends was held; a crash loop is one hold."""
    if before is None or not before.held:
        return None
    return before.held_before_ms or before.registered.timestamp_ms or None


def unfence(broker: Broker, at: Moment, pending: int) -> Broker:
    first = None if broker.unfenced_before else broker.unfenced or at
    broker = replace(broker, fenced=False, unfenced=first, gone=still_gone(broker))
    return record_early(broker, at, pending)


def record_early(broker: Broker, at: Moment | None, pending: int) -> Broker:
    """Record that the broker is unfenced early; None: a snapshot shows it."""
    early = broker.early
    if not broker.is_unfenced_early or (early is not None and early.until is None):
        return broker
    if early is None:
        return replace(broker, early=Early(at=at, pending=pending))
    again = Early(at=at, pending=early.pending, earlier_ms=early.total_ms)
    return replace(broker, early=again)


def fence(broker: Broker, at: Moment) -> Broker:
    return replace(early_ended(broker, at), fenced=True)


def early_ended(broker: Broker, at: Moment) -> Broker:
    """Record that the broker is not unfenced early any more."""
    early = broker.early
    if early is None or early.until is not None:
        return broker
    return replace(broker, early=replace(early, until=at))


def amended(broker: Broker, record: RegisterBroker, at: Moment) -> Broker:
    """Apply another registration of the same process: only its reported properties changed.

    ClusterControlManager.registerBroker writes such a record when a registered broker reports more
    properties after an upgrade ("Amending registration"); nothing restarted.
    """
    return replace(
        broker,
        epoch=record.broker_epoch,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=record.log_dirs,
        unregistered=unregistered(broker, record.log_dirs, at),
        host=record.host,
        rack=record.rack,
        supports=record.supports,
    )


def settled(broker: Broker, at: Moment) -> Broker:
    """End the hold: the last pending replica got its directory, or was deleted.

    The controller then moves leaders. It also moves the leader of a replica that is assigned to a
    directory that has failed meanwhile (ReplicationControlManager.handleAssignReplicasToDirs).
    """
    broker = replace(broker, failed=None)
    if not broker.held:
        return broker
    broker = early_ended(broker, at)
    return replace(broker, held=False, complete=at, progress=None)


def progressed(broker: Broker, movement: Movement) -> Broker:
    """Count assignments of a held broker since its registration."""
    if not broker.held or not movement.assigned:
        return broker
    before = broker.progress
    return replace(
        broker,
        progress=Progress(
            assigned=movement.assigned + (before.assigned if before else 0),
            first_ms=before.first_ms if before else movement.first_ms,
            last_ms=max(movement.last_ms, before.last_ms if before else 0),
            recent=together(before.recent if before else (), movement.recent),
        ),
    )


class BrokerSteps:
    """The brokers of one cluster while a batch is applied.

    `migration.image.advance` calls it in metadata order: `pass_` applies the changes of pending
    replicas up to a barrier, `apply` a record about a broker, `cross` the shards' crossings at one
    record.

    Attributes:
        brokers: by id, as of the last step.
        left: brokers whose registration was removed, and that have not registered since.
        departed: their registrations, as far as they were observed.
        shards: broker -> shards in which it has pending replicas.
        barriers: the offsets to `pass_`, in order.
        is_copied: whether the metadata log has what ZooKeeper had.
    """

    def __init__(
        self, image: ClusterImage, reports: Mapping[int, ShardReport], events: EventCollector
    ) -> None:
        self._add_event = events.add_at
        self.brokers: dict[int, Broker] = dict(image.brokers)
        self.left = set(image.left)
        self.departed: dict[int, Broker] = dict(image.departed)
        self.shards = {each: set(shards) for each, shards in image.pending_shards.items()}
        self._pending = {each: image.pending(each) for each in image.directories}
        self._migrating = {id_: of.get(MIGRATING, 0) for id_, of in image.directories.items()}
        self._before = image
        self.is_copied = image.migration_state.is_copied
        self._reports = reports
        self._movements = _together(reports.values())
        self.barriers = sorted(self._movements)

    def pass_(self, barrier: int) -> None:
        """Apply the movements before a barrier."""
        for broker, movement in self._movements.get(barrier, {}).items():
            self._pending[broker] = self._pending.get(broker, 0) + movement.net
            self._migrating[broker] = self._migrating.get(broker, 0) + movement.migrating
            known = self.brokers.get(broker)
            if known is not None:
                gone = None if known.gone is None else known.gone.after(movement.assigned)
                self.brokers[broker] = replace(progressed(known, movement), gone=gone)

    def apply(self, at: Moment, record: Record) -> bool:
        """Apply a record about a broker; return False if the record is about something else."""
        match record:
            case RegisterBroker():
                self._registered(at, record)
            case BrokerRegistrationChange():
                self._changed(at, record)
            case UnfenceBroker():
                self._unfenced(at, record.broker_id, record.broker_epoch)
            case FenceBroker():
                self._fenced(at, record.broker_id, record.broker_epoch)
            case UnregisterBroker():
                self._unregistered(at, record)
            case _:
                return False
        return True

    def cross(self, crossings: Iterable[tuple[int, Crossing]]) -> None:
        """Apply all (shard, crossing) at one record.

        A broker is complete when no shard has pending replicas of it.
        """
        touched: dict[int, Moment] = {}
        for shard, crossing in crossings:
            self.note_pending(shard, crossing)
            touched[crossing.broker] = Moment(
                offset=crossing.offset, timestamp_ms=crossing.timestamp_ms
            )
        for broker_id, at in touched.items():
            if not self.shards[broker_id]:
                self._completed(at, broker_id)

    def note_pending(self, shard: int, crossing: Crossing) -> None:
        """Record whether the shard has pending replicas of the broker."""
        shards = self.shards.setdefault(crossing.broker, set())
        (shards.add if crossing.pending else shards.discard)(shard)

    def replace(self, at: Moment, registrations: Iterable[RegisterBroker]) -> list[int]:
        """Load a snapshot's registrations; return the ids of the brokers that it does not contain.

        A known registration keeps its history. For any other registration a snapshot does not show
        when the broker was unfenced or complete.
        """
        known, self.brokers = self.brokers, {}
        for record in registrations:
            broker = self._from_snapshot(at, record, known.get(record.broker_id))
            self.brokers[broker.id] = broker
        self.left = (self.left | known.keys()) - self.brokers.keys()
        last = self.departed | known
        self.departed = {id_: last[id_] for id_ in last.keys() - self.brokers.keys()}
        return sorted(known.keys() - self.brokers.keys())

    def _registered(self, at: Moment, record: RegisterBroker) -> None:
        pending = self._pending.get(record.broker_id, 0)
        before = self.brokers.get(record.broker_id)
        if before is not None and before.incarnation == record.incarnation_id:
            self._amended(at, before, record)
            return
        departed = self._departed(record.broker_id, pending)
        self.departed.pop(record.broker_id, None)
        earlier = before or departed
        broker = incarnation(record, at, pending, before, departed)
        is_kraft = broker.mode is Mode.KRAFT
        migrating = self._migrating.get(broker.id, 0) if is_kraft else 0
        hosted = self._hosted(broker)
        broker = replace(
            broker,
            complete=at if is_kraft and pending == 0 else None,
            gone=without(earlier, broker, at, pending, migrating, hosted, copied=self.is_copied),
        )
        if not record.fenced:
            broker = unfence(broker, at, pending)
        self.brokers[broker.id] = broker
        self.left.discard(broker.id)
        self._add_event(
            at,
            EventKind.BROKER_REGISTERED,
            broker.id,
            epoch=broker.epoch,
            mode=str(broker.mode),
            fenced=record.fenced,
            pending=pending,
            log_dirs=[to_text(each) for each in broker.log_dirs],
        )
        if earlier is not None:
            self._directories_changed(at, broker.id, earlier.log_dirs, broker.log_dirs)
        if broker.held:
            self._add_event(at, EventKind.BROKER_HELD, broker.id, pending=pending)
        elif broker.complete is not None:
            self._add_event(at, EventKind.ASSIGNMENTS_COMPLETE, broker.id)
        if not record.fenced:
            self._add_unfenced(at, broker, pending)

    def _departed(self, id_: int, pending: int) -> Broker | None:
        """Return the last registration of a broker that left with replicas.

        One that left without any may be another machine now: no later start can harm a replica.
        """
        known = self.departed.get(id_)
        if known is None or pending or self._before.directories.get(id_):
            return known
        reported = (
            each for report in self._reports.values() for each in report.directories.items()
        )
        return known if any(broker == id_ and net > 0 for (broker, _), net in reported) else None

    def _hosted(self, broker: Broker) -> Mapping[DirectoryId, int]:
        """Return what a start in migration mode recreates if it misses; no such broker moves it."""
        is_migrating = broker.mode is Mode.MIGRATING
        return self._before.directories.get(broker.id, _NOTHING) if is_migrating else _NOTHING

    def _amended(self, at: Moment, before: Broker, record: RegisterBroker) -> None:
        self.brokers[before.id] = amended(before, record, at)
        self._add_event(
            at,
            EventKind.BROKER_AMENDED,
            before.id,
            epoch=record.broker_epoch,
            log_dirs=[to_text(each) for each in record.log_dirs],
        )
        self._directories_changed(at, before.id, before.log_dirs, record.log_dirs)

    def _changed(self, at: Moment, record: BrokerRegistrationChange) -> None:
        broker = self._current(at, record.broker_id, record.broker_epoch)
        if broker is None:
            return
        for name, allowed in _CHANGES.items():
            if (value := getattr(record, name)) not in allowed:
                self._contradicts(
                    at, broker.id, f"{name} is {value}, which Kafka 3.9 does not write"
                )
                return
        if record.log_dirs:
            self._directories_changed(at, broker.id, broker.log_dirs, record.log_dirs)
            pending = self._pending.get(broker.id, 0)
            broker = self.brokers[broker.id] = shrunk(broker, record.log_dirs, at, pending)
        if record.in_controlled_shutdown == 1 and not broker.in_controlled_shutdown:
            self.brokers[broker.id] = replace(broker, in_controlled_shutdown=True)
            self._add_event(at, EventKind.BROKER_CONTROLLED_SHUTDOWN, broker.id)
        if record.fenced == 1:
            self._fenced(at, record.broker_id, record.broker_epoch)
        elif record.fenced == -1:
            self._unfenced(at, record.broker_id, record.broker_epoch)

    def _unfenced(self, at: Moment, broker_id: int, epoch: int) -> None:
        broker = self._current(at, broker_id, epoch)
        if broker is None:
            return
        pending = self._pending.get(broker_id, 0)
        unfenced = self.brokers[broker_id] = unfence(broker, at, pending)
        self._add_unfenced(at, unfenced, pending)

    def _add_unfenced(self, at: Moment, broker: Broker, pending: int) -> None:
        self._add_event(at, EventKind.BROKER_UNFENCED, broker.id)
        if broker.is_unfenced_early:
            self._add_event(at, EventKind.BROKER_UNFENCED_EARLY, broker.id, pending=pending)

    def _fenced(self, at: Moment, broker_id: int, epoch: int) -> None:
        broker = self._current(at, broker_id, epoch)
        if broker is None:
            return
        self.brokers[broker_id] = fence(broker, at)
        self._add_event(at, EventKind.BROKER_FENCED, broker_id)

    def _unregistered(self, at: Moment, record: UnregisterBroker) -> None:
        if self._current(at, record.broker_id, record.broker_epoch) is None:
            return
        self.departed[record.broker_id] = self.brokers.pop(record.broker_id)
        self.left.add(record.broker_id)
        self._add_event(at, EventKind.BROKER_UNREGISTERED, record.broker_id)

    def _current(self, at: Moment, broker_id: int, epoch: int) -> Broker | None:
        """Return the broker if the record is of its latest registration (ClusterDelta's check)."""
        broker = self.brokers.get(broker_id)
        if broker is not None and broker.epoch == epoch:
            return broker
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        why = f"the record speaks of epoch {epoch}, the broker is {known}"
        self._contradicts(at, broker_id, why)
        return None

    def _contradicts(self, at: Moment, broker_id: int, why: str) -> None:
        self._add_event(at, EventKind.RECORD_CONTRADICTS, broker_id, reason=why)

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
            self._add_event(at, EventKind.LOG_DIRS_LOST, broker, directories=gone, left=len(after))
        if new and before:
            self._add_event(at, EventKind.LOG_DIRS_ADDED, broker, directories=new)

    def _completed(self, at: Moment, broker_id: int) -> None:
        before = self.brokers.get(broker_id)
        if before is None:
            return
        broker = self.brokers[broker_id] = settled(before, at)
        if not before.held:
            return
        since_ms = _held_since_ms(before)
        self._add_event(
            at,
            EventKind.ASSIGNMENTS_COMPLETE,
            broker_id,
            held_ms=at.timestamp_ms - since_ms if since_ms else None,
            unfenced_early_ms=broker.early.total_ms if broker.early else None,
        )

    def _from_snapshot(self, at: Moment, record: RegisterBroker, known: Broker | None) -> Broker:
        pending = self._pending.get(record.broker_id, 0)
        latest = (record.broker_epoch, mode_of(record))
        if known is not None and (known.epoch, known.mode) == latest:
            if record.log_dirs:
                known = shrunk(known, record.log_dirs, at, pending)
            if known.unfenced is None and not record.fenced:
                known = replace(known, unfenced_before=True)
            broker = amended(known, record, at)
            early = broker.early
            if early is not None and early.until is None and (broker.fenced or not pending):
                # When it ended is not in a snapshot.
                broker = replace(broker, early=replace(early, at=None))
            if broker.fenced:
                broker = early_ended(broker, at)
            if not pending:
                broker = settled(broker, at)
        else:
            departed = self._departed(record.broker_id, pending)
            # KRaft's broker epoch is the offset of the RegisterBrokerRecord
            # (ClusterControlManager.registerBroker); its time is not in a snapshot.
            since = Moment(offset=record.broker_epoch, timestamp_ms=0)
            # How many replicas were pending at the registration is not in a snapshot: if none is
            # now, those that were before it may have been recreated meanwhile.
            were_pending = pending or self._before.pending(record.broker_id)
            earlier, broker = (
                known or departed,
                incarnation(record, since, pending, known, departed),
            )
            hosted = self._hosted(broker)
            broker = replace(
                broker,
                gone=without(
                    earlier, broker, at, were_pending, hosted=hosted, copied=self.is_copied
                ),
                unfenced_before=not record.fenced,
            )
        if not broker.fenced:
            broker = replace(broker, gone=still_gone(broker))
        return record_early(broker, None, pending)


def _together(reports: Iterable[ShardReport]) -> dict[int, dict[int, Movement]]:
    """Return barrier -> broker -> movement, summed over all shards."""
    parts: dict[tuple[int, int], list[Movement]] = {}
    for report in reports:
        for of, movement in report.movements.items():
            parts.setdefault(of, []).append(movement)
    together: dict[int, dict[int, Movement]] = {}
    for (barrier, broker), movements in parts.items():
        together.setdefault(barrier, {})[broker] = Movement.of_all(movements)
    return together
