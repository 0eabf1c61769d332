"""The effect of a batch on brokers: registration, fencing, completion of assignments.

One working copy for one batch. `migration.image.advance` calls it in metadata order: `pass_`
applies the changes of pending replicas up to a barrier, `apply` applies a record about a broker,
`cross` applies the shards' crossings at one record.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from migration.image import brokers as rules
from migration.image.brokers import Broker, Moment
from migration.image.cluster import ClusterImage
from migration.image.summary import Mode
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from migration.metadata.records import (
    BrokerRegistrationChange,
    FenceBroker,
    Record,
    RegisterBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from migration.shard.report import Crossing, Movement, Note, ShardReport


class Events:
    """The events of one batch."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, at: Moment, kind: EventKind, broker: int | None = None, **fields: object) -> None:
        """Add an event."""
        self._events.append(
            Event(
                offset=at.offset,
                timestamp_ms=at.timestamp_ms,
                kind=kind,
                broker=broker,
                fields=fields,
            )
        )

    def note(self, note: Note) -> None:
        """Add the event of a shard."""
        self._events.append(
            Event(
                offset=note.offset,
                timestamp_ms=note.timestamp_ms,
                kind=note.kind,
                fields=note.fields,
            )
        )

    def in_order(self) -> tuple[Event, ...]:
        """Return the events in metadata order.

        Records of a transaction take effect at its end; their events have the records' offsets.
        """
        return tuple(sorted(self._events, key=lambda event: event.offset or 0))


class BrokerSteps:
    """The brokers of one cluster while a batch is applied.

    Attributes:
        brokers: by id, as of the last step.
        shards: broker -> shards in which it has pending replicas.
        barriers: the offsets to `pass_`, in order.
    """

    def __init__(
        self, image: ClusterImage, reports: Mapping[int, ShardReport], events: Events
    ) -> None:
        self._add_event = events.add
        self.brokers: dict[int, Broker] = dict(image.brokers)
        self.shards = {each: set(shards) for each, shards in image.pending_shards.items()}
        self._pending = {each: image.pending(each) for each in image.directories}
        self._movements = _together(reports.values())
        self.barriers = sorted(self._movements)

    def pass_(self, barrier: int) -> None:
        """Apply the movements before a barrier."""
        for broker, movement in self._movements.get(barrier, {}).items():
            self._pending[broker] = self._pending.get(broker, 0) + movement.net
            known = self.brokers.get(broker)
            if known is not None:
                self.brokers[broker] = rules.progressed(known, movement)

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
        return sorted(known.keys() - self.brokers.keys())

    def _registered(self, at: Moment, record: RegisterBroker) -> None:
        pending = self._pending.get(record.broker_id, 0)
        before = self.brokers.get(record.broker_id)
        if before is not None and before.incarnation == record.incarnation_id:
            self._amended(at, before, record)
            return
        broker = rules.registered(record, at, pending, before)
        self.brokers[broker.id] = broker
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
        if before is not None:
            self._directories_changed(at, broker.id, before.log_dirs, broker.log_dirs)
        if broker.held:
            self._add_event(at, EventKind.BROKER_HELD, broker.id, pending=pending)
        elif broker.complete is not None:
            self._add_event(at, EventKind.ASSIGNMENTS_COMPLETE, broker.id)
        if not record.fenced:
            self._add_unfenced(at, broker, pending)

    def _amended(self, at: Moment, before: Broker, record: RegisterBroker) -> None:
        self.brokers[before.id] = rules.amended(before, record)
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
        if record.log_dirs:
            self._directories_changed(at, broker.id, broker.log_dirs, record.log_dirs)
            pending = self._pending.get(broker.id, 0)
            broker = self.brokers[broker.id] = rules.shrunk(broker, record.log_dirs, at, pending)
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
        unfenced = self.brokers[broker_id] = rules.unfence(broker, at, pending)
        self._add_unfenced(at, unfenced, pending)

    def _add_unfenced(self, at: Moment, broker: Broker, pending: int) -> None:
        self._add_event(at, EventKind.BROKER_UNFENCED, broker.id)
        if broker.is_unfenced_early:
            self._add_event(at, EventKind.BROKER_UNFENCED_EARLY, broker.id, pending=pending)

    def _fenced(self, at: Moment, broker_id: int, epoch: int) -> None:
        broker = self._current(at, broker_id, epoch)
        if broker is None:
            return
        self.brokers[broker_id] = replace(broker, fenced=True)
        self._add_event(at, EventKind.BROKER_FENCED, broker_id)

    def _unregistered(self, at: Moment, record: UnregisterBroker) -> None:
        if self._current(at, record.broker_id, record.broker_epoch) is None:
            return
        del self.brokers[record.broker_id]
        self._add_event(at, EventKind.BROKER_UNREGISTERED, record.broker_id)

    def _current(self, at: Moment, broker_id: int, epoch: int) -> Broker | None:
        """Return the broker if the record is of its latest registration (ClusterDelta's check)."""
        broker = self.brokers.get(broker_id)
        if broker is not None and broker.epoch == epoch:
            return broker
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        why = f"the record speaks of epoch {epoch}, the broker is {known}"
        self._add_event(at, EventKind.RECORD_CONTRADICTS, broker_id, reason=why)
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
            self._add_event(at, EventKind.LOG_DIRS_LOST, broker, directories=gone, left=len(after))
        if new and before:
            self._add_event(at, EventKind.LOG_DIRS_ADDED, broker, directories=new)

    def _completed(self, at: Moment, broker_id: int) -> None:
        before = self.brokers.get(broker_id)
        if before is None:
            return
        broker = self.brokers[broker_id] = rules.settled(before, at)
        if not before.held:
            return
        early = broker.early.summary() if broker.early else None
        since_ms = broker.registered.timestamp_ms
        self._add_event(
            at,
            EventKind.ASSIGNMENTS_COMPLETE,
            broker_id,
            held_ms=at.timestamp_ms - since_ms if since_ms else None,
            unfenced_early_ms=early.duration_ms if early else None,
        )

    def _from_snapshot(self, at: Moment, record: RegisterBroker, known: Broker | None) -> Broker:
        pending = self._pending.get(record.broker_id, 0)
        mode = Mode.MIGRATING if record.is_migrating_zk_broker else Mode.KRAFT
        if known is not None and (known.epoch, known.mode) == (record.broker_epoch, mode):
            broker = rules.amended(known, record)
            if not pending:
                broker = rules.settled(broker, at)
        else:
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
                held=mode is Mode.KRAFT and pending > 0,
                unfenced_before=not record.fenced,
                reverted=rules.reverted(mode, known),
            )
        return rules.record_early(broker, None, pending)


def _together(reports: Iterable[ShardReport]) -> dict[int, dict[int, Movement]]:
    """Return barrier -> broker -> movement, summed over all shards."""
    together: dict[int, dict[int, Movement]] = {}
    for report in reports:
        for (barrier, broker), movement in report.movements.items():
            at = together.setdefault(barrier, {})
            at[broker] = at[broker].plus(movement) if broker in at else movement
    return together
