"""One row for each kind of fact, as `status --json` prints it; the console adds its own keys.

The keys and their order are public. A further key goes to the end of its object.
"""

from collections.abc import Mapping

from pydantic import Field

from migration.assessment.alerts import AlertState
from migration.assessment.conditions import Finding, Verdict
from migration.assessment.eta import Eta, NoEstimate, rate_per_second
from migration.assessment.hazards import Action, HazardKind
from migration.assessment.next_action import Need
from migration.assessment.waits import WaitKind
from migration.image.summary import BrokerSummary, Mode, UnfencedEarly
from migration.metadata.replica_state import ReplicaState
from migration.observed.jmx import JmxImage
from migration.observed.source_status import SourceStatus, stale_ms
from migration.values.evidence import total_of
from migration.values.severity import Severity
from orchestrator.api.shape import Moment, Row
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import Stage
from orchestrator.notify.notification import page_url


class ProgressRow(Row):
    """The assignments of a broker's replicas since its registration."""

    assigned: int
    first_ms: Moment
    last_ms: Moment
    rate_per_second: float | None


class BrokerRow(Row):
    """One broker.

    Attributes:
        held: registered in KRaft mode, with replicas that have no directory since.
        replicas_known: whether the metadata log counts its replicas.
        replicas_on_disk: null: it does not describe its directories.
    """

    id: int
    epoch: int | None
    mode: Mode
    fenced: bool
    held: bool
    log_dirs: tuple[str, ...]
    replicas: Mapping[ReplicaState, int]
    registered_offset: int | None
    unfenced_offset: int | None
    assignments_complete_offset: int | None
    unfenced_early: UnfencedEarly | None
    in_controlled_shutdown: bool
    registered_ms: Moment | None
    unfenced_ms: Moment | None
    assignments_complete_ms: Moment | None
    progress: ProgressRow | None
    under_replicated: int | None
    replicas_known: bool
    replicas_on_disk: int | None


class ControllerRow(Row):
    """The registration of a controller."""

    id: int
    zk_migration_ready: bool
    registered_offset: int | None
    registered_ms: Moment | None


class EtaRow(Row):
    """The time until no replica is pending, its interval and its basis.

    Attributes:
        how: the basis; if the other values are null, why there is no estimate.
    """

    broker: int | None = None
    seconds: float | None = None
    low_seconds: float | None = None
    high_seconds: float | None = None
    level: float | None = None
    assigned: int | None = None
    steps: int | None = None
    over_seconds: float | None = None
    how: str


class WaitRow(Row):
    """A reason to wait; the most important one comes first."""

    name: WaitKind = Field(validation_alias="kind")
    text: str = Field(serialization_alias="reason")
    broker: int | None
    since_ms: Moment | None


class FindingRow(Row):
    """The result of one condition."""

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...]
    broker: int | None
    evidence_total: int


class HazardRow(Row):
    """A hazard.

    Attributes:
        blocks: the action to avoid while it is active; `also_blocks`: another one.
        evidence: all facts that are known; the console gets the first of them.
        evidence_total: the number of facts, named or not.
    """

    id: HazardKind = Field(validation_alias="kind")
    severity: Severity
    blocks: Action | None
    broker: int | None
    text: str
    evidence: tuple[str, ...]
    way_out: str
    since_ms: Moment | None
    evidence_total: int
    deadline_ms: Moment | None
    also_blocks: Action | None


class AlertRow(Row):
    """An active or pending alert."""

    name: str
    broker: int | None
    summary: str
    since_ms: Moment
    severity: Severity
    description: str
    details: tuple[str, ...]
    labels: Mapping[str, str]
    active_since_ms: Moment | None = Field(serialization_alias="stands_since")
    is_known: bool = Field(serialization_alias="known")
    fingerprint: str
    runbook_url: str


class CheckpointRow(Row):
    """An entered checkpoint; `how` it was passed: `opened`, `already`; or `turned back`."""

    id: str
    stage: Stage
    how: str | None
    entered_ms: Moment | None
    ended_ms: Moment | None


class NextRow(Row):
    """What an operator must do now, or what is waited for.

    Attributes:
        need: `wrong`: something failed; `your_turn`: a step or an approval; `waiting`: nobody has
            to act; `nothing`: the migration is over.
        text: a sentence; `headline`: with its place in the runbook.
        why: the cause; empty: `text` says it.
        commands: that it needs, complete and quoted, the most likely first.
        instructions: for the step by hand that `text` names; null: it names none.
        topic: the page of the manual: `kraftgate help TOPIC`.
    """

    need: Need
    text: str
    headline: str
    why: str
    commands: tuple[str, ...]
    instructions: str | None
    topic: str
    place: str
    broker: int | None
    since_ms: Moment | None


class UnexpectedRow(Row):
    """A change in the cluster that no step of the runbook made."""

    at_ms: Moment
    text: str


class ExecutionRow(Row):
    """The execution of the runbook.

    Attributes:
        checkpoint: null: it has ended, is between two, or is of another runbook than kraftgate run
            has.
        path: the rollback path; null: it goes forward.
        paused: by whom and why.
        outcome: completed, rolled-back or aborted; null: it continues.
        execute: whether hooks perform the steps.
        asks: why it does not continue without an operator's decision; null: it needs none.
        shown: the instructions of a step by hand, if it may be begun now.
        findings: of the guards or the gate.
        at_ms: when the execution last reported this.
    """

    runbook: str
    checkpoint: str | None
    title: str | None
    stage: Stage | None
    path: str | None = Field(serialization_alias="rolling_back")
    paused: str | None
    outcome: str | None
    execute: bool
    asks: str | None
    shown: str | None = Field(serialization_alias="do")
    findings: tuple[RecordedFinding, ...]
    places: tuple[CheckpointRow, ...] = Field(serialization_alias="checkpoints")
    unexpected: tuple[UnexpectedRow, ...]
    at_ms: Moment = Field(serialization_alias="observed_at")


class QueueRow(Row):
    """The lower bound of a broker's queue of assignments."""

    value: int = Field(serialization_alias="not_below")
    since_ms: Moment
    filled_ms: Moment


class JmxNodeRow(Row):
    """A node's JMX numbers; an absent number is unknown."""

    endpoint: str | None
    read_ms: Moment | None
    numbers: Mapping[str, int]
    unreachable: str | None
    unreachable_since_ms: Moment | None
    queue: QueueRow | None


class ContradictionRow(Row):
    """A JMX number that contradicts another source."""

    node: int
    name: str
    reads: int
    expected: int
    against: str
    since_ms: Moment
    lasting: bool


class JmxRow(Row):
    """The JMX numbers by node id.

    Attributes:
        stale_seconds: the age of the last answer of any node.
        waiting, error: as the source reports them.
    """

    stale_seconds: float | None
    waiting: str | None
    error: str | None
    nodes: Mapping[str, JmxNodeRow]
    contradictions: tuple[ContradictionRow, ...]


def broker_row(
    broker: BrokerSummary,
    *,
    replicas_known: bool,
    counts_known: bool,
    replicas_on_disk: int | None,
) -> BrokerRow:
    rate, progress = rate_per_second(broker), broker.progress
    rate = None if rate is None else round(rate, 3)
    return BrokerRow.from_facts(
        broker,
        replicas={state: broker.replicas[state] for state in ReplicaState},
        progress=progress and ProgressRow.from_facts(progress, rate_per_second=rate),
        under_replicated=broker.under_replicated if counts_known else None,
        replicas_known=replicas_known,
        replicas_on_disk=replicas_on_disk,
    )


def unknown_counts(*, known: bool) -> dict[str, None]:
    """Return null for each count of topics and partitions unless the metadata log has them."""
    counts = ("topics", "partitions", "under_replicated", "leaderless", "reassigning")
    return {} if known else dict.fromkeys(counts)


def eta_row(eta: Eta) -> EtaRow:
    if isinstance(eta, NoEstimate):
        return EtaRow(how=str(eta))
    return EtaRow.from_facts(
        eta,
        seconds=round(eta.seconds, 3),
        low_seconds=round(eta.low, 3),
        high_seconds=round(eta.high, 3),
        over_seconds=eta.over_ms / 1000,
    )


def finding_row(finding: Finding) -> FindingRow:
    total = total_of(finding.evidence, finding.evidence_total)
    return FindingRow.from_facts(finding, evidence_total=total)


def alert_row(state: AlertState, runbook_url: str) -> AlertRow:
    """Return one alert; `runbook_url`: the address of the alerts' pages."""
    alert = state.alert
    return AlertRow.from_facts(
        alert,
        broker=alert.labels.get("broker"),
        since_ms=state.found_ms if alert.since_ms is None else alert.since_ms,
        active_since_ms=state.active_since_ms,
        is_known=state.is_known,
        runbook_url=page_url(alert, runbook_url),
    )


def jmx_row(image: JmxImage | None, source: SourceStatus, now_ms: int) -> JmxRow | None:
    """Return the numbers of all nodes; None: JMX is not configured."""
    if image is None:
        return None
    age = stale_ms(source, now_ms)
    return JmxRow.from_facts(
        source,
        stale_seconds=None if age is None else age / 1000,
        nodes={str(id_): image.nodes[id_] for id_ in sorted(image.nodes)},
        contradictions=image.contradictions,
    )
