"""The top of the page: the phase, whether data is current, and what the migration waits for."""

from migration.assessment.conditions import Verdict
from migration.assessment.currency import SourceState
from migration.assessment.waits import WaitKind
from migration.image.summary import WAY, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import behind
from orchestrator.api.console.state import Currency, Head, PhaseStep, Waiting
from orchestrator.audit.execution.state import Stage
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.views.console.state.rows import Estimated, eta_state, to_the_second


def head(one: Assessed, eta: Estimated | None) -> Head:
    """Return the state of the cluster as a whole."""
    summary, status = one.summary, one.status
    current, text = _current(one)
    return Head.from_facts(
        summary,
        phases=_phases(summary.phase),
        phase_since_ms=one.tally.phase_began_ms(summary.phase),
        current=current,
        current_text=text,
        waiting=waiting(one),
        eta=eta_state(eta),
        last_reply_ms=to_the_second(status.last_reply_ms),
        behind=behind(status, summary.metadata_offset),
        active_controller=one.active_controller,
        leader_epoch=one.leader_epoch,
        brokers={mode: sum(b.mode is mode for b in summary.brokers) for mode in Mode},
        held=sum(each.held for each in summary.brokers),
        fenced=sum(each.fenced and each.epoch is not None for each in summary.brokers),
        unfenced_early=sum(each.is_unfenced_early for each in summary.brokers),
        replicas=_replicas(summary) if one.assessment.knows_partitions else None,
        limits=one.read.limits,
    )


def waiting(one: Assessed) -> Waiting:
    """Return the most important wait; the runbook's closed checkpoint precedes the migration's."""
    walk, waits = one.execution, one.waits
    holds = walk.holds if walk is not None and walk.outcome is None else ()
    more = len(holds) + len(waits) - 1
    if walk is not None and holds:
        return Waiting(text=holds[0], by="runbook", more=more, needs_person=_asks(walk))
    if waits:
        return Waiting.from_facts(waits[0], by="migration", name=waits[0].kind, more=more)
    return Waiting(text=one.assessment.headline, by="nothing")


def _phases(phase: Phase) -> tuple[PhaseStep, ...]:
    if phase not in WAY:
        return (PhaseStep(phase=phase, state="here"),)
    at = WAY.index(phase)
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
    if status.last_reply_ms is None:
        return "no_data", status.waiting or "nothing has been observed yet"
    if log.state is SourceState.CURRENT:
        return "current", "what is shown is the present"
    if log.state is SourceState.BEHIND:
        reading = [each.text for each in one.waits if each.kind is WaitKind.CATCHING_UP]
        return "reading", reading[0]
    if log.state is SourceState.OVER:
        return "over", "nobody writes the metadata log any more"
    if log.state is SourceState.SILENT:
        return "stale", "kraftgate run does not report any more"
    return "stale", status.waiting or "no controller answers any more"


def _replicas(summary: ClusterSummary) -> dict[ReplicaState, int]:
    return {state: sum(each.replicas[state] for each in summary.brokers) for state in ReplicaState}


def _asks(walk: ExecutionStatus) -> bool:
    """Whether the checkpoint needs an operator: a decision, a manual step, an approval or a fix."""
    return (
        walk.asks is not None
        or walk.stage is Stage.SHOWN
        or walk.people > len(walk.approved_by)
        or any(each.verdict is Verdict.VIOLATED for each in walk.findings)
    )
