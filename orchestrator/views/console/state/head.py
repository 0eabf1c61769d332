"""The top of the page: the phase, whether data is current, and the next action."""

from typing import Final

from migration.assessment.conditions import DataSource, hazards_not_known
from migration.assessment.conditions.authority import was_read
from migration.assessment.currency import SourceState
from migration.assessment.waits import WaitKind
from migration.image.summary import WAY, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.metadata.versions import name_of
from migration.observed.source_status import behind
from orchestrator.api.console.state import Currency, Head, Next, PhaseStep
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
    current, text = _current(one)
    known = one.assessment.knows_partitions
    brokers, unread = summary.brokers, summary.metadata_offset is None
    return Head.from_facts(
        summary,
        phase=phase,
        phases=_phases(phase),
        phase_since_ms=None if phase is None else one.read.tally.phase_began_ms(phase),
        current=current,
        current_text=text,
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


def _current(one: Assessed) -> tuple[Currency, str]:
    log = one.assessment.log
    status = log.status
    if log.state is SourceState.ERROR:
        return "source_error", log.why or ""
    if status.finished:
        return "finished", "read to its end"
    if log.state is SourceState.CURRENT:
        return "current", "the data is current"
    if log.state is SourceState.BEHIND:
        reading = [each.text for each in one.assessment.waits if each.kind is WaitKind.CATCHING_UP]
        return "reading", next(iter(reading), log.why or "")
    if log.state is SourceState.OVER:
        return "over", "no controller writes the metadata log any more"
    if not was_read(one.assessment.view, DataSource.METADATA_LOG):
        return "no_data", status.waiting or "nothing has been observed yet"
    if log.state is SourceState.SILENT:
        return "stale", "the source of the metadata log does not report"
    if status.last_reply_ms is None:
        waits = [each.text for each in one.assessment.waits if each.kind in _UNANSWERED]
        return "stale", next(iter(waits), log.why or "")
    return "stale", status.waiting or "no controller answers any more"


def _replicas(summary: ClusterSummary) -> dict[ReplicaState, int]:
    return {state: sum(each.replicas[state] for each in summary.brokers) for state in ReplicaState}
