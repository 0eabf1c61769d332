"""The top of the page: the phase, whether data is current, and what the migration waits for."""

from typing import Literal

from migration.assessment.conditions import Verdict
from migration.assessment.currency import SourceState
from migration.assessment.waits.wait import WaitKind
from migration.image.holds import is_unfenced_early
from migration.image.summary import WAY, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import behind
from orchestrator.api.console.state import Head, PhaseStep, Waiting
from orchestrator.audit.execution.state import Stage
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import WalkTold
from orchestrator.views.console.state.assessment import needs_person, to_the_second
from orchestrator.views.console.state.brokers import eta_told, no_eta
from orchestrator.views.console.state.estimates import Estimated

Currency = Literal["current", "reading", "stale", "no_data", "source_error", "over", "finished"]


def head(one: Assessed, eta: Estimated | None) -> Head:
    """Return the state of the cluster as a whole."""
    summary, status = one.summary, one.status
    current, text = _current(one)
    controller = status.active_controller
    epoch = status.leader_epoch
    return Head(
        phase=summary.phase,
        phases=_phases(summary.phase),
        phase_since_ms=one.tally.phase_began_ms(summary.phase),
        current=current,
        current_text=text,
        waiting=waiting(one),
        eta=None if eta is None else eta_told(eta),
        no_eta=None if eta is None else no_eta(eta),
        last_reply_ms=to_the_second(status.last_reply_ms),
        observed_ms=summary.observed_ms,
        metadata_offset=summary.metadata_offset,
        behind=behind(status, summary.metadata_offset),
        active_controller=summary.active_controller if controller is None else controller,
        leader_epoch=summary.leader_epoch if epoch is None else epoch,
        metadata_version=summary.metadata_version,
        topics=summary.topics,
        partitions=summary.partitions,
        under_replicated=summary.under_replicated,
        leaderless=summary.leaderless,
        reassigning=summary.reassigning,
        brokers={mode: sum(b.mode is mode for b in summary.brokers) for mode in Mode},
        held=sum(each.held for each in summary.brokers),
        fenced=sum(each.fenced and each.epoch is not None for each in summary.brokers),
        unfenced_early=sum(map(is_unfenced_early, summary.brokers)),
        replicas=_replicas(summary) if one.assessment.knows_partitions else None,
        limits=one.read.limits,
    )


def waiting(one: Assessed) -> Waiting:
    """Return the most important wait; the runbook's closed checkpoint precedes the migration's."""
    walk, reasons = one.walk, one.waits
    walked = walk if walk is not None and walk.outcome is None else None
    holds = walked.holds if walked else ()
    more = len(holds) + len(reasons) - 1
    if walked is not None and holds:
        return Waiting(
            text=holds[0],
            by="runbook",
            name=None,
            broker=None,
            since_ms=None,
            more=more,
            needs_person=_asks(walked),
        )
    if reasons:
        first = reasons[0]
        return Waiting(
            text=first.text,
            by="migration",
            name=first.kind,
            broker=first.broker,
            since_ms=first.since_ms,
            more=more,
            needs_person=needs_person(first),
        )
    return Waiting(
        text=one.assessment.headline,
        by="nothing",
        name=None,
        broker=None,
        since_ms=None,
        more=0,
        needs_person=False,
    )


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


def _asks(walk: WalkTold) -> bool:
    """Whether the checkpoint needs an operator: a decision, a manual step, an approval or a fix."""
    return (
        walk.asks is not None
        or walk.stage is Stage.SHOWN
        or walk.people > len(walk.approved_by)
        or any(each.verdict is Verdict.VIOLATED for each in walk.findings)
    )
