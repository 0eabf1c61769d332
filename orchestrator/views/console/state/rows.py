"""The page's lists: brokers, sources, waits, hazards, checkpoints, and the execution."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from migration.assessment.alerts import AlertStates
from migration.assessment.eta import Eta, NoEstimate, cluster_eta
from migration.assessment.hazards import Hazard
from migration.assessment.waits import Wait
from migration.image.summary import BrokerSummary, ClusterSummary
from migration.observed.source_status import NO_STATUS
from orchestrator.api.console.state import (
    BrokerState,
    CheckpointState,
    EtaState,
    ExecutionState,
    Instance,
    SourceName,
    SourceState,
    WaitState,
)
from orchestrator.api.rows import (
    AlertRow,
    HazardRow,
    alert_row,
    broker_row,
    eta_row,
)
from orchestrator.audit.execution.state import BEHIND, TURNED_BACK, Stage
from orchestrator.execution.route import checkpoints
from orchestrator.run.assessed import Assessed, is_in_order, urgency
from orchestrator.run.execution_status import CheckpointStatus, ExecutionStatus
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Checkpoint
from orchestrator.views.console.state.approvable import ShownBases

EVERY_MS: Final = 5_000
"""An estimate of an otherwise unchanged broker is renewed at most once in this time."""


class Estimated(NamedTuple):
    """An estimate, or why there is none, and when it was made."""

    eta: Eta
    at_ms: int


class Estimates:
    """The estimates of one cluster's held brokers."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BrokerSummary, Estimated]] = {}

    def take(self, summary: ClusterSummary, found: Mapping[int, Eta], now_ms: int) -> None:
        """Store the estimates that are due: those of changed brokers, and those that are old."""
        before, self._known = self._known, {}
        for broker in summary.brokers:
            eta = found.get(broker.id)
            if eta is None:
                continue
            known = before.get(broker.id)
            if known is None or known[0] != broker or _is_due(known[1], eta, now_ms):
                known = (broker, Estimated(eta, now_ms))
            self._known[broker.id] = known

    def of(self, broker: BrokerSummary) -> Estimated | None:
        """Return the estimate of one broker; None: it is not held."""
        known = self._known.get(broker.id)
        return None if known is None else known[1]

    def of_all(self, summary: ClusterSummary) -> Estimated | None:
        """Return the estimate of the time until no broker is held; None: none is held."""
        eta = cluster_eta(summary, {id_: each.eta for id_, (_, each) in self._known.items()})
        if eta is None:
            return None
        return Estimated(eta, max(each.at_ms for _, each in self._known.values()))


def _is_due(known: Estimated, now: Eta, now_ms: int) -> bool:
    none_any_more = isinstance(now, NoEstimate) or isinstance(known.eta, NoEstimate)
    return now != known.eta if none_any_more else now_ms - known.at_ms >= EVERY_MS


ROWS_MAX: Final = 200
"""The most waits, hazards and alerts that the page gets."""
_MINUTE_MS: Final = 60_000


def to_the_second(moment_ms: int | None) -> int | None:
    """Return a moment cut to the second: the page updates at most once a second for it."""
    return None if moment_ms is None else moment_ms - moment_ms % 1000


class BrokerFacts(NamedTuple):
    """The facts of one broker's row.

    Attributes:
        known: whether the metadata log counts its replicas.
        eta: for a held broker.
        has_failed: it has a failed log directory.
    """

    broker: BrokerSummary
    known: bool
    on_disk: int | None
    eta: Estimated | None
    stalled: bool
    has_failed: bool


def broker_state(facts: BrokerFacts) -> BrokerState:
    broker, known, on_disk, eta, stalled, has_failed = facts
    row = broker_row(broker, replicas_known=known, counts_known=known, replicas_on_disk=on_disk)
    return BrokerState.from_facts(
        row,
        host=broker.host,
        rack=broker.rack,
        stalled=stalled,
        is_unfenced_early=broker.is_unfenced_early,
        pending=broker.pending if known else None,
        total=sum(row.replicas.values()) if known else row.replicas_on_disk,
        eta=eta_state(eta),
        held_since_ms=broker.held_since_ms,
        last_progress_ms=broker.last_progress_ms if broker.held else None,
        in_order=is_in_order(broker, has_failed=has_failed),
        urgency=urgency(broker, has_failed=has_failed),
    )


def eta_state(made: Estimated | None) -> EtaState | None:
    """Return an estimate, for a broker or for all."""
    return None if made is None else EtaState.from_facts(eta_row(made.eta), made_at_ms=made.at_ms)


def sources(one: Assessed) -> Iterator[SourceState]:
    """Yield the four sources, also those that are not configured."""
    statuses, unread = one.configured, one.unread
    for each, current in one.assessment.current.items():
        status = statuses.get(each, NO_STATUS)
        yield SourceState.from_facts(
            status,
            name=cast(SourceName, str(each)),
            configured=each in statuses,
            in_use=current is not None,
            current=current is True,
            why_not=one.assessment.currency.not_current.get(each),
            last_reply_ms=to_the_second(status.last_reply_ms),
            unread=unread.get(each),
        )


def waits(found: Sequence[Wait]) -> Iterator[WaitState]:
    """Yield the most important waits of the migration."""
    return map(WaitState.model_validate, found[:ROWS_MAX])


def hazards(found: Sequence[Hazard]) -> Iterator[HazardRow]:
    """Yield the most severe hazards, with their first facts."""
    for each in found[:ROWS_MAX]:
        yield HazardRow.model_validate(each).model_copy(update={"evidence": each.shown})


def alerts(found: AlertStates, runbook_url: str) -> Iterator[AlertRow]:
    """Yield the most severe active alerts."""
    return (alert_row(each, runbook_url) for each in found.active()[:ROWS_MAX])


def execution_state(walk: ExecutionStatus, bases: ShownBases) -> ExecutionState:
    return ExecutionState.from_facts(
        walk,
        basis=None if walk.basis is None else bases.add(walk.basis),
        at_ms=walk.at_ms - walk.at_ms % _MINUTE_MS,
    )


def checkpoint_states(walk: ExecutionStatus, loaded: Loaded) -> Iterator[CheckpointState]:
    """Yield the checkpoints of the path as in the runbook, with the entered instances."""
    path: list[Checkpoint] = list(checkpoints(loaded.runbook, None))
    if walk.path is not None:  # the entered checkpoints of the forward path, then the rollback's
        entered = {each.id.partition("[")[0] for each in walk.places}
        path = [each for each in path if each.id in entered]
        if any(each.id == walk.path for each in loaded.runbook.rollbacks):
            path += checkpoints(loaded.runbook, walk.path)
        else:
            return  # the execution is by another runbook
    for each in path:
        yield _checkpoint_state(each, walk.places)


def _checkpoint_state(
    checkpoint: Checkpoint, places: Sequence[CheckpointStatus]
) -> CheckpointState:
    place = next((each for each in places if each.id == checkpoint.id), None)
    approval = checkpoint.approval
    instances = tuple(_instances(checkpoint, places))
    return CheckpointState.from_facts(
        checkpoint,
        stage=_stage(instances) if place is None else place.stage,
        how=_how(instances) if place is None else place.how,
        entered_ms=None if place is None else place.entered_ms,
        ended_ms=None if place is None else place.ended_ms,
        instances=instances,
        people=0 if approval is None or approval.given_at is not None else approval.people,
        step=None if checkpoint.step is None else checkpoint.step.name,
    )


def _instances(checkpoint: Checkpoint, places: Sequence[CheckpointStatus]) -> Iterator[Instance]:
    prefix = f"{checkpoint.id}["
    for each in places:
        if each.id.startswith(prefix):
            yield Instance.from_facts(each, of=int(each.id[len(prefix) : -1]))


def _how(instances: Sequence[Instance]) -> str | None:
    """Return that a rollback began at one of the instances; None: none did."""
    return TURNED_BACK if any(each.how == TURNED_BACK for each in instances) else None


def _stage(instances: Sequence[Instance]) -> Stage:
    """Return the stage of a checkpoint with instances: that of the first unfinished instance."""
    if not instances:
        return Stage.AHEAD
    if _how(instances) is not None:
        return Stage.SKIPPED
    return next((each.stage for each in instances if each.stage not in BEHIND), Stage.ENTERED)
