"""One broker's registration and what became of it: fenced, held, complete, unfenced early.

A broker is **held** from its KRaft registration until every replica it hosts has a real directory
id. Kafka does not hold it (kafka-facts: KIP-858's fencing was not shipped), so it may be unfenced
early; that is kept with the number of pending replicas then, and how long it lasted.
"""

from dataclasses import dataclass, replace

from migration.image.summary import DirectoriesGone, Mode, Progress, UnfencedEarly
from migration.metadata.directory_ids import DirectoryId, to_text
from migration.metadata.records import RegisterBroker
from migration.shard.pending import Movement
from migration.shard.progress import together


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A record's place in the log and its timestamp (ms since the epoch)."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """Unfenced while held: when (None: before the snapshot), with how many pending, until when."""

    at: Moment | None
    pending: int
    until: Moment | None = None

    def summary(self) -> UnfencedEarly:
        """As the contract prints it."""
        known = self.at is not None and self.until is not None
        duration = self.until.timestamp_ms - self.at.timestamp_ms if known else None  # type: ignore[union-attr]
        return UnfencedEarly(pending=self.pending, duration_ms=duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Log directories that are not registered any more, while replicas had no known one.

    Attributes:
        pending: the broker's replicas without a directory, then.
    """

    directories: tuple[DirectoryId, ...]
    pending: int
    at: Moment

    def summary(self) -> DirectoriesGone:
        """As the summary has it."""
        return DirectoriesGone(
            directories=tuple(to_text(each) for each in self.directories),
            pending=self.pending,
            at_ms=self.at.timestamp_ms or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The latest registration of a broker, and what came after it.

    Attributes:
        registered: the RegisterBrokerRecord; from a snapshot the timestamp is unknown (0).
        unfenced: the first unfencing since, None: none seen.
        unfenced_before: a snapshot showed the broker unfenced, so the first unfencing is unknown.
        complete: the record with which no replica was pending any more, None: held or not KRaft.
        held: KRaft, and not complete yet.
        gone: directories that it had before and came back without, if that is dangerous.
        failed: those that failed since, while replicas had no known directory and still have none.
        host: of its first listener.
        supports: the highest metadata.version that it can work with.
        reverted: it was in KRaft mode before it was in migration mode, as in a rollback.
    """

    id: int
    epoch: int
    incarnation: bytes
    mode: Mode
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[DirectoryId, ...]
    registered: Moment
    held: bool
    unfenced: Moment | None = None
    unfenced_before: bool = False
    complete: Moment | None = None
    early: Early | None = None
    progress: Progress | None = None
    gone: Gone | None = None
    failed: Gone | None = None
    host: str | None = None
    rack: str | None = None
    supports: int | None = None
    reverted: bool = False


def without(
    before: Broker | None, now: tuple[DirectoryId, ...], at: Moment, pending: int
) -> Gone | None:
    """The directories that a broker comes back without, while some of its replicas have none."""
    if before is None or not pending:
        return None
    earlier = [each.directories for each in (before.failed, before.gone) if each is not None]
    had = dict.fromkeys(each for some in (before.log_dirs, *earlier) for each in some)
    missing = tuple(each for each in had if each not in now)
    return Gone(directories=missing, pending=pending, at=at) if missing else None


def shrunk(broker: Broker, now: tuple[DirectoryId, ...], at: Moment, pending: int) -> Broker:
    """A broker that runs has these directories left (handleDirectoriesOffline).

    Leaders are not moved of replicas that have no known directory: the controller cannot tell that
    they lay in one that failed.
    """
    lost = tuple(each for each in broker.log_dirs if each not in now)
    failed = broker.failed
    if lost and pending:
        earlier = failed.directories if failed is not None else ()
        failed = Gone(directories=(*lost, *earlier), pending=pending, at=at)
    return replace(broker, log_dirs=now, failed=failed)


def reverted(mode: Mode, before: Broker | None) -> bool:
    """Whether a broker that registers in this mode has left KRaft mode."""
    came_from_kraft = before is not None and (before.mode is Mode.KRAFT or before.reverted)
    return mode is Mode.MIGRATING and came_from_kraft


def registered(
    record: RegisterBroker, at: Moment, pending: int, before: Broker | None = None
) -> Broker:
    """Begin an incarnation; `pending`: the broker's replicas without a directory by then."""
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
    """Kafka lets the broker serve; while it is held that is early."""
    early = broker.early
    if broker.held and early is None:
        early = Early(at=at, pending=pending)
    first = None if broker.unfenced_before else broker.unfenced or at
    return replace(broker, fenced=False, unfenced=first, early=early)


def amended(broker: Broker, record: RegisterBroker) -> Broker:
    """Take a registration of the same process again: what it says of itself changed, no more.

    ClusterControlManager.registerBroker writes such a record when a broker that is registered
    already tells more of itself after an upgrade ("Amending registration"); nothing restarted.
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
    """The last pending replica got its directory (or is gone): a hold ends, leaders are moved.

    An assignment to a directory that has failed meanwhile moves the leader, too
    (ReplicationControlManager.handleAssignReplicasToDirs).
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
