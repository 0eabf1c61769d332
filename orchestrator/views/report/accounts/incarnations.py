"""Every broker and every registration of it, with its course: a fold over the events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event
from orchestrator.api.report.brokers import BrokerAccount, Exposure, Incarnation
from orchestrator.api.report.shape import Span
from orchestrator.views.report.accounts.assignments import Assigned
from orchestrator.views.report.accounts.phases import UNKNOWN


@dataclass(slots=True, kw_only=True)
class _Open:
    """A time span that has begun, and perhaps ended."""

    began_ms: int | None
    ended_ms: int | None = None
    pending: int = 0
    exact: bool = True

    def span(self, as_of_ms: int) -> Span:
        return Span.lasting(self.began_ms, self.ended_ms, as_of_ms, exact=self.exact)

    def exposure(self, as_of_ms: int) -> Exposure:
        return Exposure.lasting(self.began_ms, self.ended_ms, as_of_ms, facts=self)


@dataclass(slots=True, kw_only=True)
class Registration:
    """One registration by its events.

    Attributes:
        registered_offset: None: a snapshot had the registration, so no event reported it.
        ended_offset: the ending record's; -1: the log ended.
    """

    broker: int
    metadata_log: int
    epoch: int | None
    mode: str
    log_dirs: int
    registered_at: int | None
    registered_offset: int | None
    pending: int
    held: _Open | None = None
    cut_short: bool = False
    completed_offset: int | None = None
    unfenced_at: int | None = None
    unfenced_offset: int | None = None
    fenced: list[_Open] = field(default_factory=list)
    exposed: list[_Open] = field(default_factory=list)
    shut_down_at: int | None = None
    directories_lost: int = 0
    ended_at: int | None = None
    ended_offset: int | None = None

    @property
    def held_before(self) -> int | None:
        """The offset before which its hold ended; None: at the log's end, or it is still held."""
        if self.completed_offset is not None:
            return self.completed_offset + 1
        return None if self.ended_offset == -1 else self.ended_offset

    @property
    def is_fenced(self) -> bool:
        return bool(self.fenced) and self.fenced[-1].ended_ms is None

    @property
    def is_exposed(self) -> bool:
        return bool(self.exposed) and self.exposed[-1].ended_ms is None

    @property
    def is_held(self) -> bool:
        return self.held is not None and self.held.ended_ms is None

    def close(self, at_ms: int | None, offset: int | None, *, exact: bool = True) -> None:
        """Record the end of the registration and of everything that still lasts in it."""
        self.ended_at, self.ended_offset = at_ms, offset
        self.fence_ends(at_ms, exact=exact)
        if self.is_held:
            self.cut_short = at_ms is not None
        self.hold_ends(at_ms, exact=exact)

    def fence_ends(self, at_ms: int | None, *, exact: bool = True) -> None:
        """Record that Kafka unfenced the broker, or that the registration ended."""
        if self.is_fenced:
            self.fenced[-1].ended_ms = at_ms
            self.fenced[-1].exact &= exact

    def exposure_ends(self, at_ms: int | None, *, exact: bool = True) -> None:
        """Record the end of early unfencing: all replicas assigned, broker fenced, or ended."""
        if self.is_exposed:
            self.exposed[-1].ended_ms = at_ms
            self.exposed[-1].exact &= exact

    def hold_ends(self, at_ms: int | None, *, exact: bool = True) -> None:
        """Record that no replica of the broker is pending any more."""
        if self.held is not None and self.held.ended_ms is None:
            self.held.ended_ms = at_ms
            self.held.exact &= exact
        self.exposure_ends(at_ms, exact=exact)

    def now_fenced(self, at_ms: int, *, fenced: bool, held: bool) -> None:
        """Record what a snapshot shows; it replaced records, so no time is exact."""
        if fenced:
            self.exposure_ends(at_ms, exact=False)
            if not self.is_fenced:
                self.fenced.append(_Open(began_ms=None, exact=False))
            return
        self.fence_ends(at_ms, exact=False)
        if held and not self.is_exposed:
            self.exposed.append(_Open(began_ms=None, pending=self.pending, exact=False))

    def is_kraft(self) -> None:
        """Record the mode that an event shows; one that was read has its own.

        After skipped records the event may be of a later registration.
        """
        if self.registered_offset is None:
            self.mode = str(Mode.KRAFT)

    def with_course(self, of: "Registration") -> "Registration":
        """Return it with what events show of its course."""
        return replace(
            self,
            held=of.held or self.held,
            fenced=of.fenced or self.fenced,
            exposed=of.exposed or self.exposed,
            shut_down_at=of.shut_down_at,
            directories_lost=of.directories_lost,
        )


def registrations(
    events: Iterable[Event], now: Iterable[BrokerSummary]
) -> Mapping[int, list[Registration]]:
    """Return the registrations by broker, folded from the events in the order of their reporting.

    `now`: the brokers at the end. A registration that no event reported (a snapshot had it) is
    known only from there.
    """
    fold = _Registrations()
    for event in events:
        fold.take(event)
    for broker in now:
        fold.settle(broker)
    return fold.by_broker


class _Registrations:
    """The state of the fold over all brokers' events."""

    def __init__(self) -> None:
        self.by_broker: dict[int, list[Registration]] = {}
        self._log = 1
        self._snapshot_ms: int | None = None

    def take(self, event: Event) -> None:
        if event.kind == "metadata_log_restarted":
            self._restart(event)
        elif event.kind == "snapshot_loaded":
            self._load_snapshot(event)
        elif event.kind == "phase_changed" and event.fields.get("now") == Phase.ROLLED_BACK:
            self._roll_back(event)
        elif event.kind == "broker_registered" and event.broker is not None:
            self._register(event, event.broker)
        elif event.broker is not None and event.kind in _OF_REGISTRATION:
            _apply(self._current(event.broker) or self._of_snapshot(event.broker), event)

    def settle(self, broker: BrokerSummary) -> None:
        """Add what only the summary has of a registration: a snapshot contained it."""
        if broker.mode is Mode.ZOOKEEPER:
            return
        reg, known = self._current(broker.id), _of_summary(broker, self._log)
        if reg is None:
            self.by_broker.setdefault(broker.id, []).append(known)
        elif reg.registered_offset is None and reg.epoch in (None, broker.epoch):
            self.by_broker[broker.id][-1] = known.with_course(reg)
        elif reg.epoch != broker.epoch:
            # After a rollback the summary has no epoch: no snapshot shows when it ended.
            at_ms = None if broker.epoch is None else self._snapshot_ms
            reg.close(at_ms, broker.registered_offset, exact=False)
            # What a snapshot began in it is of the registration that nobody read.
            reg.fenced = [each for each in reg.fenced if each.began_ms is not None]
            reg.exposed = [each for each in reg.exposed if each.began_ms is not None]
            self.by_broker[broker.id].append(known)

    def _of_snapshot(self, broker: int) -> Registration:
        """Add a registration that no event reported."""
        reg = Registration(
            broker=broker,
            metadata_log=self._log,
            epoch=None,
            mode=UNKNOWN,
            log_dirs=0,
            registered_at=None,
            registered_offset=None,
            pending=0,
        )
        self.by_broker.setdefault(broker, []).append(reg)
        return reg

    def _current(self, broker: int | None) -> Registration | None:
        known = self.by_broker.get(broker, []) if broker is not None else []
        return known[-1] if known and known[-1].ended_offset is None else None

    def _every_current(self) -> Iterator[Registration]:
        return filter(None, map(self._current, self.by_broker))

    def _register(self, event: Event, broker: int) -> None:
        before = self._current(broker)
        if before is not None:
            before.close(event.moment_ms, event.offset)
        fields = event.fields
        reg = Registration(
            broker=broker,
            metadata_log=self._log,
            epoch=_number(fields.get("epoch")),
            mode=str(fields.get("mode")),
            log_dirs=len(_listed(fields.get("log_dirs"))),
            registered_at=event.moment_ms,
            registered_offset=event.offset,
            pending=_number(fields.get("pending")) or 0,
        )
        if fields.get("fenced"):
            reg.fenced.append(_Open(began_ms=event.moment_ms))
        self.by_broker.setdefault(broker, []).append(reg)

    def _restart(self, event: Event) -> None:
        """Close all registrations: another metadata log begins, and the old one is void."""
        for reg in self._every_current():
            reg.close(event.moment_ms, -1)
        self._log = _number(event.fields.get("log")) or self._log + 1

    def _roll_back(self, event: Event) -> None:
        """End all fences and holds: ZooKeeper's controller owns the cluster again, not this log."""
        for reg in self._every_current():
            reg.fence_ends(event.moment_ms)
            reg.cut_short = reg.is_held
            reg.hold_ends(event.moment_ms, exact=False)

    def _load_snapshot(self, event: Event) -> None:
        """Begin and end what a snapshot shows as begun and ended.

        It replaced records, so the time is not exact. An event of an earlier release does not have
        the fenced brokers.
        """
        held = _listed(event.fields.get("held"))
        fenced = event.fields.get("fenced")
        gone = _listed(event.fields.get("unregistered"))
        self._snapshot_ms = at_ms = event.moment_ms
        for broker in {*held, *_listed(fenced)} if fenced is not None else ():
            if isinstance(broker, int) and self._current(broker) is None:
                self._of_snapshot(broker)
        for reg in self._every_current():
            if reg.broker in gone:
                reg.close(at_ms, event.offset)
                continue
            if reg.broker not in held:
                reg.hold_ends(at_ms, exact=False)
            if fenced is not None and at_ms is not None:
                is_fenced = reg.broker in _listed(fenced)
                reg.now_fenced(at_ms, fenced=is_fenced, held=reg.broker in held)


_OF_REGISTRATION: Final = (
    EventKind.BROKER_HELD,
    EventKind.ASSIGNMENTS_COMPLETE,
    EventKind.BROKER_UNFENCED,
    EventKind.BROKER_UNFENCED_EARLY,
    EventKind.BROKER_FENCED,
    EventKind.BROKER_AMENDED,
    EventKind.BROKER_CONTROLLED_SHUTDOWN,
    EventKind.LOG_DIRS_LOST,
    EventKind.BROKER_UNREGISTERED,
)
"""The events of the course of a registration."""


def _apply(reg: Registration, event: Event) -> None:  # noqa: C901  # a case an event
    at_ms = event.moment_ms
    match event.kind:
        case "broker_held":
            reg.held = _Open(began_ms=at_ms, pending=reg.pending)
        case "assignments_complete":
            if reg.held is None and reg.registered_offset is None:
                reg.held = _Open(began_ms=None, exact=False)
            reg.is_kraft()
            reg.hold_ends(at_ms)
            reg.completed_offset = event.offset
        case "broker_unfenced":
            if reg.registered_offset is None and not reg.fenced:
                reg.fenced.append(_Open(began_ms=None, exact=False))
            reg.fence_ends(at_ms)
            if reg.unfenced_offset is None:
                reg.unfenced_at, reg.unfenced_offset = at_ms, event.offset
        case "broker_unfenced_early":
            reg.is_kraft()
            pending = _number(event.fields.get("pending")) or 0
            reg.exposed.append(_Open(began_ms=at_ms, pending=pending))
        case "broker_fenced":
            reg.exposure_ends(at_ms)
            if not reg.is_fenced:
                reg.fenced.append(_Open(began_ms=at_ms))
        case "broker_amended":
            reg.epoch = _number(event.fields.get("epoch"))
        case "broker_controlled_shutdown":
            reg.shut_down_at = at_ms
        case "log_dirs_lost":
            reg.directories_lost += len(_listed(event.fields.get("directories")))
        case "broker_unregistered":
            reg.close(at_ms, event.offset)


def _of_summary(broker: BrokerSummary, log: int) -> Registration:
    early, progress = broker.unfenced_early, broker.progress
    began_ms = broker.registered_ms or None
    assigned = 0 if progress is None else progress.assigned
    reg = Registration(
        broker=broker.id,
        metadata_log=log,
        epoch=broker.epoch,
        mode=str(broker.mode),
        log_dirs=len(broker.log_dirs),
        registered_at=began_ms,
        registered_offset=broker.registered_offset,
        pending=broker.pending + assigned if broker.held else 0,
        unfenced_at=broker.unfenced_ms,
        unfenced_offset=broker.unfenced_offset,
        completed_offset=broker.assignments_complete_offset,
    )
    if broker.held:
        reg.held = _Open(began_ms=began_ms, pending=reg.pending, exact=False)
    if broker.fenced:
        reg.fenced.append(_Open(began_ms=None, exact=False))
    if early is not None:
        ended_ms = None if broker.held else broker.assignments_complete_ms
        at_ms = broker.unfenced_ms
        reg.exposed.append(
            _Open(began_ms=at_ms, ended_ms=ended_ms, pending=early.pending, exact=False)
        )
    return reg


def accounts(
    registrations: Mapping[int, Sequence[Registration]],
    now: ClusterSummary,
    assigned: Assigned | None,
    as_of_ms: int,
) -> Iterator[BrokerAccount]:
    """Yield every broker with its registrations; `assigned` None: it is unknown."""
    known = {each.id: each for each in now.brokers}
    for id_ in sorted(registrations.keys() | known.keys()):
        broker = known.get(id_)
        known_as = tuple(
            _incarnation(each, assigned, as_of_ms) for each in registrations.get(id_, ())
        )
        holds = [each.held for each in known_as if each.held is not None]
        yield BrokerAccount(
            id=id_,
            host=None if broker is None else broker.host,
            rack=None if broker is None else broker.rack,
            mode="gone" if broker is None else str(broker.mode),
            held=broker is not None and broker.held,
            fenced=broker is not None and broker.fenced,
            held_ms=_total_ms(holds),
            fenced_ms=_total_ms(each for one in known_as for each in one.fenced),
            exposed_ms=_total_ms(each for one in known_as for each in one.exposed),
            assigned=None
            if assigned is None
            else sum(one.assignments.assigned for one in known_as if one.assignments is not None),
            incarnations=known_as,
        )


def _total_ms(spans: Iterable[Span]) -> int | None:
    """Return the sum of the durations; None: one of them is unknown."""
    total_ms = 0
    for each in spans:
        if each.duration_ms is None:
            return None
        total_ms += each.duration_ms
    return total_ms


def _incarnation(reg: Registration, assigned: Assigned | None, as_of_ms: int) -> Incarnation:
    found = None
    if assigned is not None and reg.held is not None and reg.registered_offset is not None:
        found = assigned.of(reg.broker, reg.metadata_log, reg.registered_offset, reg.held_before)
    return Incarnation.from_facts(
        reg,
        held=None if reg.held is None else reg.held.span(as_of_ms),
        fenced=tuple(each.span(as_of_ms) for each in reg.fenced),
        exposed=tuple(each.exposure(as_of_ms) for each in reg.exposed),
        assignments=found,
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
