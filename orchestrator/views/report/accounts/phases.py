"""The phases of the migration over time, and the window of the report."""

from collections.abc import Iterator, Sequence
from typing import Final

from migration.image.summary import Phase
from migration.metadata.events import Event, Source
from orchestrator.api.report.brokers import BrokerAccount
from orchestrator.api.report.execution import ExecutionAccount
from orchestrator.api.report.report import PhaseSpan, Window
from orchestrator.api.report.shape import span
from orchestrator.views.report.accounts.attempts import numbered

_OVER: Final = (Phase.FINALIZED, Phase.ROLLED_BACK)


def phases_of(events: Sequence[Event], now: Phase, as_of_ms: int) -> tuple[PhaseSpan, ...]:
    """Return the phases in order; the last one has no end."""
    changes = list(_changes(events))
    if not changes:
        whole = span(None, None, as_of_ms)
        return (PhaseSpan(**whole.model_dump(), phase=str(now), offset=None, source=None),)
    _, first, log = changes[0]
    before = span(None, first.moment_ms, as_of_ms)
    was = str(first.fields.get("was", Phase.ZOOKEEPER))
    told = [PhaseSpan(**before.model_dump(), phase=was, offset=None, source=None, metadata_log=log)]
    ends = [each.moment_ms for _, each, _ in changes[1:]]
    for (phase, event, log), ended_ms in zip(changes, [*ends, None], strict=True):
        of = span(event.moment_ms, ended_ms, as_of_ms, exact=event.kind == "phase_changed")
        if event.offset is None and event.source is Source.KRAFT_METADATA and of.duration_ms == 0:
            continue  # not a record: another log began, and its first record names the phase
        told.append(
            PhaseSpan(
                **of.model_dump(),
                phase=phase,
                offset=event.offset,
                source=str(event.source),
                metadata_log=log,
            )
        )
    return numbered(told)


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


def window_of(
    executions: Sequence[ExecutionAccount],
    phases: Sequence[PhaseSpan],
    brokers: Sequence[BrokerAccount],
    first_ms: int | None,
    as_of_ms: int | None,
) -> Window:
    """Return the window: of the executions, else of the migration, else of all polling."""
    if executions:
        last = executions[-1]
        return _window("walks", executions[0].began_at, last.ended_at, as_of_ms)
    if phases[-1].phase == Phase.KRAFT:
        return _window("followed", first_ms, None, as_of_ms)
    held = any(each.held for each in brokers)
    over = phases[-1].phase in _OVER and not held
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


def _window(of: str, began_ms: int | None, ended_ms: int | None, as_of_ms: int | None) -> Window:
    known = span(began_ms, ended_ms, as_of_ms or 0)
    return Window.model_validate(
        {
            "of": of,
            "began_at": began_ms,
            "ended_at": ended_ms,
            "ended": ended_ms is not None,
            "duration_ms": known.duration_ms,
        }
    )
