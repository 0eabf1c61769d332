"""One broker's registration and what became of it: fenced, held, complete, unfenced early.

A broker is **held** from its KRaft registration until every replica it hosts has a real directory
id. Kafka does not hold it (kafka-facts: KIP-858's fencing was not shipped), so it may be unfenced
early; that is kept with the number of pending replicas then, and how long it lasted.
"""

from dataclasses import dataclass, replace

from migration.directory_ids import DirectoryId, to_text
from migration.records import RegisterBroker
from migration.summary import DirectoriesGone, Mode, Progress, UnfencedEarly
from migration.transitions import Movement


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

    def told(self) -> UnfencedEarly:
        """As the contract prints it."""
        known = self.at is not None and self.until is not None
        duration = self.until.timestamp_ms - self.at.timestamp_ms if known else None  # type: ignore[union-attr]
        return UnfencedEarly(pending=self.pending, duration_ms=duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Log directories that are not registered any more, while replicas had no known one.

    Attributes:
        pending: the broker's replicas without a directory, then.
        at_registration: it came back without them; False: they failed while it ran.
    """

    directories: tuple[DirectoryId, ...]
    pending: int
    at: Moment
    at_registration: bool

    def told(self) -> DirectoriesGone:
        """As the summary has it."""
        return DirectoriesGone(
            directories=tuple(to_text(each) for each in self.directories),
            pending=self.pending,
            at_ms=self.at.timestamp_ms or None,
            at_registration=self.at_registration,
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
        gone: directories that it had before and lacks, if that is dangerous.
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


def without(
    before: Broker | None,
    now: tuple[DirectoryId, ...],
    at: Moment,
    pending: int,
    *,
    at_registration: bool,
) -> Gone | None:
    """The directories that a broker lacks from `at` on, while some of its replicas have none.

    What was gone and stays so is told as of its own time, unless the broker has restarted since.
    """
    if before is None:
        return None
    earlier = before.gone.directories if before.gone is not None else ()
    missing = tuple(each for each in (*before.log_dirs, *earlier) if each not in now)
    if not missing:
        return None
    known = before.gone
    if known is not None and known.directories == missing and not at_registration:
        return known
    if not pending:
        return None
    return Gone(directories=missing, pending=pending, at=at, at_registration=at_registration)


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
        gone=without(before, record.log_dirs, at, pending, at_registration=True),
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
    )


def complete(broker: Broker, at: Moment) -> Broker:
    """The last pending replica got its directory (or is gone): the hold ends."""
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
        ),
    )
