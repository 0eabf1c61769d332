"""One broker's registration and its state: fenced, held, complete, unfenced early.

A broker is **held** from its KRaft registration until each of its replicas has a real directory id.
Kafka does not hold it (kafka-facts: KIP-858's fencing was not shipped) and may unfence it early.
The image records such an unfencing, with the number of replicas that were pending and its duration.
"""

from dataclasses import dataclass, replace

from migration.image.summary import DirectoriesGone, Mode, Progress, Registered, UnfencedEarly
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.records import RegisterBroker
from migration.shard.report import Movement, together


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A record's metadata offset and its timestamp (ms since the epoch)."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """Unfenced while held.

    Attributes:
        at: the unfencing record; None: it precedes the snapshot.
        pending: number of pending replicas at that record, or in the snapshot.
        until: the record that ended the hold.
    """

    at: Moment | None
    pending: int
    until: Moment | None = None

    def summary(self) -> UnfencedEarly:
        """Return its part of the summary."""
        known = self.at is not None and self.until is not None
        duration = self.until.timestamp_ms - self.at.timestamp_ms if known else None  # type: ignore[union-attr]
        return UnfencedEarly(pending=self.pending, duration_ms=duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Log directories that are no longer registered, and were lost while replicas had no known one.

    Attributes:
        pending: number of the broker's replicas without a directory at that moment.
    """

    directories: tuple[DirectoryId, ...]
    pending: int
    at: Moment

    def summary(self) -> DirectoriesGone:
        """Return its part of the summary."""
        return DirectoriesGone(
            directories=tuple(to_text(each) for each in self.directories),
            pending=self.pending,
            at_ms=self.at.timestamp_ms or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker(Registered):
    """The latest registration of a broker, and its later state.

    Attributes:
        registered: the RegisterBrokerRecord; from a snapshot the timestamp is unknown (0).
        unfenced: the first unfencing since the registration; None: none was observed.
        unfenced_before: a snapshot showed the broker unfenced, so the first unfencing is unknown.
        complete: the record after which no replica was pending; None: held, or not KRaft.
        gone: directories missing from this registration, if replicas may be lost with them.
        failed: directories that failed since, while replicas had no known directory, and still have
            none.
    """

    epoch: int
    incarnation: bytes
    log_dirs: tuple[DirectoryId, ...]
    registered: Moment
    unfenced: Moment | None = None
    unfenced_before: bool = False
    complete: Moment | None = None
    early: Early | None = None
    gone: Gone | None = None
    failed: Gone | None = None


def without(
    before: Broker | None, now: tuple[DirectoryId, ...], at: Moment, pending: int
) -> Gone | None:
    """Return the directories that are missing while some of the broker's replicas have none."""
    if before is None or not pending:
        return None
    earlier = [each.directories for each in (before.failed, before.gone) if each is not None]
    had = dict.fromkeys(each for some in (before.log_dirs, *earlier) for each in some)
    missing = tuple(each for each in had if each not in now)
    return Gone(directories=missing, pending=pending, at=at) if missing else None


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
    return replace(broker, log_dirs=now, failed=failed)


def reverted(mode: Mode, before: Broker | None) -> bool:
    """Return whether a broker that registers in this mode has left KRaft mode."""
    came_from_kraft = before is not None and (before.mode is Mode.KRAFT or before.reverted)
    return mode is Mode.MIGRATING and came_from_kraft


def registered(
    record: RegisterBroker, at: Moment, pending: int, before: Broker | None = None
) -> Broker:
    """Begin an incarnation; `pending`: number of the broker's replicas without a directory then."""
    mode = Mode.MIGRATING if record.is_migrating_zk_broker else Mode.KRAFT
    broker = Broker(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation=record.incarnation_id,
        mode=mode,
        fenced=True,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=record.log_dirs,
        registered=at,
        held=mode is Mode.KRAFT and pending > 0,
        complete=at if mode is Mode.KRAFT and pending == 0 else None,
        gone=without(before, record.log_dirs, at, pending),
        host=record.host,
        rack=record.rack,
        supports=record.supports,
        reverted=reverted(mode, before),
    )
    return broker if record.fenced else unfence(broker, at, pending)


def unfence(broker: Broker, at: Moment, pending: int) -> Broker:
    """Mark the broker unfenced."""
    first = None if broker.unfenced_before else broker.unfenced or at
    return record_early(replace(broker, fenced=False, unfenced=first), at, pending)


def record_early(broker: Broker, at: Moment | None, pending: int) -> Broker:
    """Record the first time that the broker is unfenced early; None: a snapshot shows it."""
    if broker.early is not None or not broker.is_unfenced_early:
        return broker
    return replace(broker, early=Early(at=at, pending=pending))


def amended(broker: Broker, record: RegisterBroker) -> Broker:
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
    early = broker.early
    if early is not None and early.until is None:
        early = replace(early, until=at)
    return replace(broker, held=False, complete=at, early=early, progress=None)


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
