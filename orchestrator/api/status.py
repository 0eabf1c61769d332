"""The JSON that `replay --json` and `status --json` print.

Offsets are the metadata log's; times are ISO 8601 in UTC with milliseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import InstanceOf, PlainSerializer

from migration.assessment.conditions.authority import log_counts
from migration.image.summary import ClusterSummary, Phase
from migration.metadata.events import Event
from migration.observed.source_status import stale_ms
from migration.values.timestamps import iso
from orchestrator.api.rows import (
    AlertRow,
    BrokerRow,
    ControllerRow,
    EtaRow,
    ExecutionRow,
    HazardRow,
    JmxRow,
    NextRow,
    WaitRow,
    alert_row,
    broker_row,
    eta_row,
    jmx_row,
    unknown_counts,
)
from orchestrator.api.shape import Moment, Row
from orchestrator.config.alerts import RUNBOOK_URL
from orchestrator.run.assessed import Assessed


def _event_json(event: Event) -> dict[str, object]:
    """Return the fixed keys, with the event's own fields between them."""
    fixed: dict[str, object] = {
        "offset": event.offset,
        "timestamp": None if event.timestamp_ms is None else iso(event.timestamp_ms),
        "kind": event.kind,
        "broker": event.broker,
    }
    seen_at = None if event.seen_ms is None else iso(event.seen_ms)
    last = {"source": str(event.source), "seen_at": seen_at}
    known = fixed | last
    return fixed | {k: v for k, v in event.fields.items() if k not in known} | last


class ClusterRow(Row):
    """The state of one cluster; `complete` is left out unless a file was damaged.

    Attributes:
        phase: null: unknown; see `ClusterSummary.known_phase`.
    """

    metadata_offset: int | None
    phase: Phase | None
    topics: int | None
    partitions: int | None
    brokers: tuple[BrokerRow, ...]
    events: tuple[Annotated[InstanceOf[Event], PlainSerializer(_event_json)], ...]
    complete: bool = True
    cluster: str
    observed_ms: Moment | None
    leader_epoch: int | None
    active_controller: int | None
    metadata_version: int | None
    unknown_records: int
    under_replicated: int | None
    leaderless: int | None
    reassigning: int | None
    controllers: tuple[ControllerRow, ...] | None

    def public(self) -> dict[str, object]:
        left_out = {"complete"} if self.complete else None
        return self.model_dump(mode="json", by_alias=True, exclude=left_out)


class StatusRow(ClusterRow):
    """The live state of one cluster, and what it waits for.

    Attributes:
        waiting_for: as text; first why the runbook's checkpoint is closed.
        eta_seconds: null if no broker is held, for stale data, for a stalled broker, and before
            there is a rate; `eta.how` has the reason.
        stale_seconds: the age of a controller's last answer; null before the first.
        limits: what the sources cannot show.
    """

    checkpoint: str | None
    waiting_for: tuple[str, ...]
    eta_seconds: float | None
    stale_seconds: float | None
    alerts: tuple[AlertRow, ...]
    waits: tuple[WaitRow, ...]
    hazards: tuple[HazardRow, ...]
    broker_eta_seconds: Mapping[str, float | None]
    limits: tuple[str, ...]
    jmx: JmxRow | None
    walk: ExecutionRow | None
    eta: EtaRow | None
    broker_etas: Mapping[str, EtaRow]
    pending_alerts: tuple[AlertRow, ...]
    next: NextRow


def cluster_json(
    summary: ClusterSummary, events: Iterable[Event], *, complete: bool = True
) -> dict[str, object]:
    """Return the state that a log leads to, with its own counts.

    `complete`: False for a damaged file.
    """
    facts = _cluster(summary, events, known=log_counts(summary), own_counts=True)
    return ClusterRow.from_facts(summary, **facts, complete=complete).public()


def status_json(one: Assessed, runbook_url: str = RUNBOOK_URL) -> dict[str, object]:
    assessment, execution = one.assessment, one.read.execution
    age = stale_ms(one.read.status, one.now_ms)
    etas = {str(broker): eta_row(each) for broker, each in assessment.etas.items()}
    eta = None if assessment.eta is None else eta_row(assessment.eta)
    alerts = assessment.alerts
    return StatusRow.from_facts(
        one.summary,
        **_cluster(
            one.summary,
            (event for _, event in one.read.events),
            known=assessment.knows_partitions,
        ),
        active_controller=assessment.view.active_controller,
        leader_epoch=one.leader_epoch,
        next=assessment.next,
        checkpoint=None if execution is None else execution.checkpoint,
        waiting_for=[*(execution.holds if execution else ()), *(e.text for e in assessment.waits)],
        eta_seconds=None if eta is None else eta.seconds,
        stale_seconds=None if age is None else age / 1000,
        alerts=[alert_row(each, runbook_url) for each in alerts.active()],
        waits=assessment.waits,
        hazards=assessment.hazards,
        broker_eta_seconds={broker: each.seconds for broker, each in etas.items()},
        limits=one.read.limits,
        jmx=jmx_row(one.summary.jmx, one.read.jmx, one.now_ms),
        walk=execution,
        eta=eta,
        broker_etas=etas,
        pending_alerts=[alert_row(each, runbook_url) for each in alerts.pending()],
    ).public()


def clusters_json(clusters: Sequence[dict[str, object]], *, many: bool) -> dict[str, object]:
    """Return a list of clusters in the configuration's order, or without `many` the only one."""
    return {"clusters": list(clusters)} if many else clusters[0]


def _cluster(
    summary: ClusterSummary, events: Iterable[Event], *, known: bool, own_counts: bool = False
) -> dict[str, object]:
    """Return the rows of a cluster; `own_counts`: also counts that only the log has."""
    brokers = [
        broker_row(
            each,
            replicas_known=known and each.epoch is not None,
            counts_known=own_counts or (known and each.epoch is not None),
            replicas_on_disk=summary.replicas_on_disk(each.id),
        )
        for each in summary.brokers
    ]
    return {
        "brokers": brokers,
        "events": tuple(events),
        "phase": summary.known_phase,
        **unknown_counts(known=own_counts or known),
    }
