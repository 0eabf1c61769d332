"""Every registration of every broker, with its course: a fold over the events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from migration.image.summary import BrokerSummary, Mode, Phase
from migration.metadata.events import Event
from orchestrator.api.report.brokers import Exposure
from orchestrator.api.report.shape import Span, span


@dataclass(slots=True, kw_only=True)
class _Open:
    """A time span that has begun, and perhaps ended."""

    began_ms: int | None
    ended_ms: int | None = None
    pending: int = 0
    exact: bool = True

    def told(self, as_of_ms: int) -> Span:
        return span(self.began_ms, self.ended_ms, as_of_ms, exact=self.exact)

    def exposure(self, as_of_ms: int) -> Exposure:
        of = self.told(as_of_ms)
        return Exposure(**of.model_dump(), pending=self.pending)


@dataclass(slots=True, kw_only=True)
class Life:
    """One registration by its events; `ended_offset`: the ending record's, -1: the log ended."""

    broker: int
    log: int
    epoch: int | None
    mode: str
    log_dirs: int
    registered_ms: int | None
    registered_offset: int | None
    pending: int
    held: _Open | None = None
    completed_offset: int | None = None
    unfenced_ms: int | None = None
    unfenced_offset: int | None = None
    fenced: list[_Open] = field(default_factory=list)
    exposed: list[_Open] = field(default_factory=list)
    shut_down_ms: int | None = None
    directories_lost: int = 0
    ended_ms: int | None = None
    ended_offset: int | None = None

    @property
    def held_before(self) -> int | None:
        """The offset before which its hold ended; None: at the log's end, or it is still held."""
        if self.completed_offset is not None:
            return self.completed_offset + 1
        return None if self.ended_offset == -1 else self.ended_offset

    @property
    def is_fenced(self) -> bool:
        """Whether it is fenced after the last processed event."""
        return bool(self.fenced) and self.fenced[-1].ended_ms is None

    def close(self, at_ms: int | None, offset: int | None) -> None:
        """Record the end of the registration and of everything that still lasts in it."""
        self.ended_ms, self.ended_offset = at_ms, offset
        self.fence_ends(at_ms)
        self.exposure_ends(at_ms)
        if self.held is not None and self.held.ended_ms is None:
            self.held.ended_ms = at_ms

    def fence_ends(self, at_ms: int | None) -> None:
        """Record that Kafka unfenced the broker, or that the registration ended."""
        if self.is_fenced:
            self.fenced[-1].ended_ms = at_ms

    def exposure_ends(self, at_ms: int | None, *, exact: bool = True) -> None:
        """Record the end of early unfencing: all replicas assigned, broker fenced, or ended."""
        if self.exposed and self.exposed[-1].ended_ms is None:
            self.exposed[-1].ended_ms = at_ms
            self.exposed[-1].exact &= exact

    def hold_ends(self, at_ms: int | None, *, exact: bool = True) -> None:
        """Record that no replica of the broker is pending any more."""
        if self.held is not None and self.held.ended_ms is None:
            self.held.ended_ms = at_ms
            self.held.exact &= exact
        self.exposure_ends(at_ms, exact=exact)


def lives(events: Iterable[Event], now: Iterable[BrokerSummary]) -> Mapping[int, list[Life]]:
    """Return the registrations by broker, folded from the events in the order of their reporting.

    `now`: the brokers at the end. A registration that no event reported (a snapshot had it) is
    known only from there.
    """
    fold = _Fold()
    for event in events:
        fold.take(event)
    for broker in now:
        fold.settle(broker)
    return fold.lives


class _Fold:
    """The state of the fold over all brokers' events."""

    def __init__(self) -> None:
        self.lives: dict[int, list[Life]] = {}
        self._log = 1

    def take(self, event: Event) -> None:
        """Process one event."""
        if event.kind == "metadata_log_restarted":
            self._restarted(event)
        elif event.kind == "snapshot_loaded":
            self._skipped(event)
        elif event.kind == "phase_changed" and event.fields.get("now") == Phase.ROLLED_BACK:
            self._void(event)
        elif event.kind == "broker_registered" and event.broker is not None:
            self._registered(event, event.broker)
        else:
            life = self._current(event.broker)
            if life is not None:
                _happened(life, event)

    def settle(self, broker: BrokerSummary) -> None:
        """Add a registration that only the summary has: a snapshot contained it."""
        if broker.mode is Mode.ZOOKEEPER:
            return
        life = self._current(broker.id)
        if life is not None and life.epoch == broker.epoch:
            return
        if life is not None:
            life.close(None, broker.registered_offset)
        self.lives.setdefault(broker.id, []).append(_of_summary(broker, self._log))

    def _current(self, broker: int | None) -> Life | None:
        known = self.lives.get(broker, []) if broker is not None else []
        return known[-1] if known and known[-1].ended_offset is None else None

    def _registered(self, event: Event, broker: int) -> None:
        before = self._current(broker)
        if before is not None:
            before.close(event.moment_ms, event.offset)
        fields = event.fields
        life = Life(
            broker=broker,
            log=self._log,
            epoch=_number(fields.get("epoch")),
            mode=str(fields.get("mode")),
            log_dirs=len(_listed(fields.get("log_dirs"))),
            registered_ms=event.moment_ms,
            registered_offset=event.offset,
            pending=_number(fields.get("pending")) or 0,
        )
        if fields.get("fenced"):
            life.fenced.append(_Open(began_ms=event.moment_ms))
        self.lives.setdefault(broker, []).append(life)

    def _restarted(self, event: Event) -> None:
        """Close all registrations: another metadata log begins, and the old one is void."""
        for broker in self.lives:
            life = self._current(broker)
            if life is not None:
                life.close(event.moment_ms, -1)
        self._log = _number(event.fields.get("log")) or self._log + 1

    def _void(self, event: Event) -> None:
        """End all fences and holds: ZooKeeper's controller owns the cluster again, not this log."""
        for broker in self.lives:
            life = self._current(broker)
            if life is not None:
                life.fence_ends(event.moment_ms)
                life.hold_ends(event.moment_ms, exact=False)

    def _skipped(self, event: Event) -> None:
        """End what a snapshot shows as ended; it replaced records, so the time is not exact."""
        held = _listed(event.fields.get("held"))
        gone = _listed(event.fields.get("unregistered"))
        for broker in self.lives:
            life = self._current(broker)
            if life is None:
                continue
            if broker in gone:
                life.close(event.moment_ms, event.offset)
            elif broker not in held:
                life.hold_ends(event.moment_ms, exact=False)


def _happened(life: Life, event: Event) -> None:  # noqa: C901  # a case an event
    at_ms = event.moment_ms
    match event.kind:
        case "broker_held":
            life.held = _Open(began_ms=at_ms, pending=life.pending)
        case "assignments_complete":
            life.hold_ends(at_ms)
            life.completed_offset = event.offset
        case "broker_unfenced":
            life.fence_ends(at_ms)
            if life.unfenced_offset is None:
                life.unfenced_ms, life.unfenced_offset = at_ms, event.offset
        case "broker_unfenced_early":
            pending = _number(event.fields.get("pending")) or 0
            life.exposed.append(_Open(began_ms=at_ms, pending=pending))
        case "broker_fenced":
            life.exposure_ends(at_ms)
            if not life.is_fenced:
                life.fenced.append(_Open(began_ms=at_ms))
        case "broker_amended":
            life.epoch = _number(event.fields.get("epoch"))
        case "broker_controlled_shutdown":
            life.shut_down_ms = at_ms
        case "log_dirs_lost":
            life.directories_lost += len(_listed(event.fields.get("directories")))
        case "broker_unregistered":
            life.close(at_ms, event.offset)


def _of_summary(broker: BrokerSummary, log: int) -> Life:
    early, progress = broker.unfenced_early, broker.progress
    began_ms = broker.registered_ms or None
    assigned = 0 if progress is None else progress.assigned
    life = Life(
        broker=broker.id,
        log=log,
        epoch=broker.epoch,
        mode=str(broker.mode),
        log_dirs=len(broker.log_dirs),
        registered_ms=began_ms,
        registered_offset=broker.registered_offset,
        pending=broker.pending + assigned if broker.held else 0,
        unfenced_ms=broker.unfenced_ms,
        unfenced_offset=broker.unfenced_offset,
        completed_offset=broker.assignments_complete_offset,
    )
    if broker.held:
        life.held = _Open(began_ms=began_ms, pending=life.pending, exact=False)
    if broker.fenced:
        life.fenced.append(_Open(began_ms=None, exact=False))
    if early is not None:
        ended_ms = None if broker.held else broker.assignments_complete_ms
        at_ms = broker.unfenced_ms
        life.exposed.append(
            _Open(began_ms=at_ms, ended_ms=ended_ms, pending=early.pending, exact=False)
        )
    return life


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
