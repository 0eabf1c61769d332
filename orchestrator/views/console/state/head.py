"""The top of the page: the phase, whether data is current, and the next action."""

from collections.abc import Mapping
from typing import Final

from migration.assessment.conditions import hazards_not_known
from migration.assessment.currency import LogData, SourceState
from migration.assessment.waits import WaitKind
from migration.image.summary import WAY, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.metadata.versions import name_of
from migration.observed.source_status import behind
from orchestrator.api.console.state import Head, Next, PhaseStep
from orchestrator.api.rows import unknown_counts
from orchestrator.run.assessed import Assessed
from orchestrator.views.console.state.rows import Estimated, eta_state, to_the_second

_UNANSWERED: Final = (
    WaitKind.NO_CONTROLLER,
    WaitKind.CONTROLLERS,
    WaitKind.CATCHING_UP,
    WaitKind.NOT_RUNNING,
)
"""The waits for the first answer of a controller; their texts have no ages."""


def head(one: Assessed, eta: Estimated | None) -> Head:
    summary, status, phase = one.summary, one.read.status, one.summary.known_phase
    known = one.assessment.knows_partitions
    brokers, unread = summary.brokers, summary.metadata_offset is None
    return Head.from_facts(
        summary,
        phase=phase,
        phases=_phases(phase),
        phase_since_ms=None if phase is None else one.read.tally.phase_began_ms(phase),
        current=one.assessment.log_data,
        current_text=_current_text(one),
        next=_next(one),
        eta=eta_state(eta),
        last_reply_ms=to_the_second(status.last_reply_ms),
        behind=behind(status, summary.metadata_offset),
        active_controller=one.assessment.view.active_controller,
        leader_epoch=one.leader_epoch,
        metadata_version=None if (level := summary.metadata_version) is None else name_of(level),
        brokers={mode: sum(b.mode is mode for b in brokers) for mode in Mode},
        held=None if unread else sum(each.held for each in brokers),
        fenced=None if unread else sum(each.fenced and each.epoch is not None for each in brokers),
        unfenced_early=None if unread else sum(each.is_unfenced_early for each in brokers),
        replicas=_replicas(summary) if known else None,
        **unknown_counts(known=known),
        limits=one.read.limits,
        hazards_not_known=hazards_not_known(one.assessment.view),
    )


def _next(one: Assessed) -> Next:
    """Return the next action; the waits that it does not name are counted."""
    walk = one.read.execution
    holds = walk.holds if walk is not None and walk.outcome is None else ()
    more = max(0, len(holds) + len(one.assessment.waits) - 1)
    return Next.from_facts(one.assessment.next, more=more)


def _phases(phase: Phase | None) -> tuple[PhaseStep, ...]:
    if phase is not None and phase not in WAY:
        return (PhaseStep(phase=phase, state="here"),)
    at = -1 if phase is None else WAY.index(phase)
    return tuple(
        PhaseStep(phase=each, state="behind" if place < at else "here" if place == at else "ahead")
        for place, each in enumerate(WAY)
    )


def _current_text(one: Assessed) -> str:
    log, waits = one.assessment.log, one.assessment.waits
    waiting, why = log.status.waiting, log.why or ""
    if log.state is SourceState.SILENT:
        stale = "the source of the metadata log does not report"
    elif log.status.last_reply_ms is None:
        stale = next((each.text for each in waits if each.kind in _UNANSWERED), why)
    else:
        stale = waiting or "no controller answers any more"
    texts: Mapping[LogData, str] = {
        "source_error": why,
        "finished": "read to its end",
        "current": "the data is current",
        "reading": next((e.text for e in waits if e.kind is WaitKind.CATCHING_UP), why),
        "over": "no controller writes the metadata log any more",
        "no_data": waiting or "nothing has been observed yet",
        "stale": stale,
    }
    return texts[one.assessment.log_data]


def _replicas(summary: ClusterSummary) -> dict[ReplicaState, int]:
    return {state: sum(each.replicas[state] for each in summary.brokers) for state in ReplicaState}
