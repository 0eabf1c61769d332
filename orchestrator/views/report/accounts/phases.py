"""The phases of the migration over time, its attempts, and the window of the report.

An attempt belongs to one metadata log: after a rollback the controllers are removed, and the next
attempt starts with newly formatted controllers, which write another log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from migration.image.summary import WAY, Phase
from migration.metadata.events import Event, Source
from orchestrator.api.report.brokers import BrokerAccount
from orchestrator.api.report.execution import ExecutionAccount
from orchestrator.api.report.report import Attempt, PhaseSpan, Window
from orchestrator.api.report.shape import Span

UNKNOWN: Final = "unknown"
"""The phase if neither the metadata log nor ZooKeeper was read."""
_UNDER_WAY: Final = WAY[1:-1]
_OUTCOMES: Final[Mapping[str, str]] = {
    Phase.FINALIZED: "finalized",
    Phase.ROLLED_BACK: "rolled back",
}


def phases_of(events: Sequence[Event], now: str, as_of_ms: int) -> tuple[PhaseSpan, ...]:
    """Return the phases in order; the last one has no end."""
    changes = list(_changes(events))
    if not changes:
        return (PhaseSpan.lasting(None, None, as_of_ms, phase=now, offset=None, source=None),)
    after, first, log = changes[0]
    was = str(first.fields.get("was", Phase.ZOOKEEPER))
    before = PhaseSpan.lasting(
        None,
        first.moment_ms,
        as_of_ms,
        exact=first.kind == "phase_changed",
        phase=was,
        offset=None,
        source=None,
        metadata_log=log,
    )
    phases = [] if after == Phase.KRAFT else [before]  # it never had ZooKeeper
    ends = [each.moment_ms for _, each, _ in changes[1:]]
    for (phase, event, log), ended_ms in zip(changes, [*ends, None], strict=True):
        one = PhaseSpan.lasting(
            event.moment_ms,
            ended_ms,
            as_of_ms,
            exact=event.kind == "phase_changed",
            phase=phase,
            offset=event.offset,
            source=str(event.source),
            metadata_log=log,
        )
        if event.offset is None and event.source is Source.KRAFT_METADATA and not one.duration_ms:
            continue  # not a record: another log began, and its first record names the phase
        phases.append(one)
    return _numbered(phases)


def _changes(events: Sequence[Event]) -> Iterator[tuple[str, Event, int]]:
    """Yield the new phase, the event of each phase change, and the number of its metadata log.

    A snapshot may report a change late.
    """
    phase, log = None, 1
    for event in events:
        now = None
        if event.kind == "metadata_log_restarted":
            began = event.fields.get("log")
            log = began if isinstance(began, int) else log + 1
        if event.kind == "phase_changed":
            now = event.fields.get("now")
        elif event.kind == "snapshot_loaded":
            now = event.fields.get("phase")
        if now is not None and now != phase:
            phase = str(now)
            yield phase, event, log


def _numbered(phases: Iterable[PhaseSpan]) -> tuple[PhaseSpan, ...]:
    """Return the phases with the number of the attempt of each, if it has one."""
    number, log = 0, None
    found = []
    for each in phases:
        if each.phase in _UNDER_WAY and each.metadata_log != log:
            number, log = number + 1, each.metadata_log
        belongs = each.metadata_log == log and (each.phase in _UNDER_WAY or each.phase in _OUTCOMES)
        found.append(each.model_copy(update={"attempt": number}) if belongs else each)
    return tuple(found)


def attempts_of(
    phases: Sequence[PhaseSpan], executions: Sequence[ExecutionAccount], as_of_ms: int
) -> tuple[Attempt, ...]:
    """Return the attempts in order; `phases` are already numbered."""
    numbers = dict.fromkeys(each.attempt for each in phases if each.attempt is not None)
    return tuple(
        _attempt(number, [each for each in phases if each.attempt == number], executions, as_of_ms)
        for number in numbers
    )


def _attempt(
    number: int, phases: Sequence[PhaseSpan], executions: Sequence[ExecutionAccount], as_of_ms: int
) -> Attempt:
    first, last = phases[0], phases[-1]
    outcome = _OUTCOMES.get(last.phase)
    ended_ms = last.ended_at if outcome is None else last.began_at
    if outcome is None:
        outcome = "under way" if ended_ms is None else "abandoned"
    reached = max((Phase(each.phase) for each in phases if each.phase in WAY), key=WAY.index)
    return Attempt.lasting(
        first.began_at,
        ended_ms,
        as_of_ms,
        exact=all(each.exact for each in phases),
        number=number,
        metadata_log=first.metadata_log,
        outcome=outcome,
        reached=str(reached),
        walks=tuple(each.number for each in executions if _meet(each, first.began_at, ended_ms)),
    )


def _meet(execution: ExecutionAccount, began_ms: int | None, ended_ms: int | None) -> bool:
    if ended_ms is not None and execution.began_at > ended_ms:
        return False
    return execution.ended_at is None or began_ms is None or execution.ended_at >= began_ms


def window_of(
    executions: Sequence[ExecutionAccount],
    phases: Sequence[PhaseSpan],
    brokers: Sequence[BrokerAccount],
    first_ms: int | None,
    as_of_ms: int | None,
) -> Window:
    """Return the window: of the executions, else of the migration, else of all polling."""
    if executions:
        began_ms, last = executions[0].began_at, executions[-1]
        if last.outcome == "unknown":
            return _unknown("walks", began_ms)
        return _window("walks", began_ms, last.ended_at, as_of_ms)
    if phases[-1].phase == UNKNOWN:
        return _unknown("migration", first_ms)
    if phases[-1].phase == Phase.KRAFT:
        return _window("followed", first_ms, None, as_of_ms)
    held = any(each.held for each in brokers)
    over = phases[-1].phase in _OUTCOMES and not held
    ended_ms = phases[-1].began_at if over else None
    if ended_ms is not None:
        completed = [
            each.held.ended_at
            for broker in brokers
            for each in broker.incarnations
            if each.held is not None and each.held.ended_at is not None
        ]
        ended_ms = max([ended_ms, *completed])
    return _window("migration", first_ms, ended_ms, as_of_ms)


def _unknown(of: str, began_ms: int | None) -> Window:
    facts = {"of": of, "began_at": began_ms, "ended_at": None, "ended": None, "duration_ms": None}
    return Window.model_validate(facts)


def _window(of: str, began_ms: int | None, ended_ms: int | None, as_of_ms: int | None) -> Window:
    known = Span.lasting(began_ms, ended_ms, as_of_ms or 0)
    return Window.from_facts(known, of=of, ended=ended_ms is not None)
