"""The JSON that `replay --json` and `status --json` print; its keys and their order stay.

Further keys stand at the end of their object, so that whoever reads by position reads on.
Offsets are the metadata log's; times are ISO 8601 in UTC with milliseconds.
"""

from collections.abc import Iterable

from migration.assessment.alerts import AlertState
from migration.assessment.conditions import Finding
from migration.assessment.eta.rates import Eta, NoEstimate, rate_per_second
from migration.assessment.hazards import Hazard
from migration.assessment.waits.wait import Wait
from migration.image.broker_replicas import log_counts, on_disk
from migration.image.summary import BrokerSummary, ClusterSummary, ControllerSummary
from migration.metadata.events import Event
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import stale_ms
from migration.values.timestamps import iso
from orchestrator.api.status_jmx import jmx_json
from orchestrator.config.alerts import RUNBOOK_URL
from orchestrator.notify.notification import page_url
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import WalkTold

_REPLICA_ORDER = (
    ReplicaState.MIGRATING,
    ReplicaState.UNASSIGNED,
    ReplicaState.ASSIGNED,
    ReplicaState.OFFLINE,
    ReplicaState.LOST,
)


def cluster_json(
    summary: ClusterSummary, events: Iterable[Event], *, complete: bool = True
) -> dict[str, object]:
    """Give the state of one cluster; `complete` appears only when it is false (a damaged file)."""
    result: dict[str, object] = {
        "metadata_offset": summary.metadata_offset,
        "phase": str(summary.phase),
        "topics": summary.topics,
        "partitions": summary.partitions,
        "brokers": [_broker_json(summary, broker) for broker in summary.brokers],
        "events": [_event_json(event) for event in events],
    }
    if not complete:
        result["complete"] = False
    result.update(
        cluster=summary.cluster,
        observed_at=_iso_or_none(summary.observed_ms),
        leader_epoch=summary.leader_epoch,
        active_controller=summary.active_controller,
        metadata_version=summary.metadata_version,
        unknown_records=summary.unknown_records,
        under_replicated=summary.under_replicated,
        leaderless=summary.leaderless,
        reassigning=summary.reassigning,
        controllers=_controllers_json(summary.controllers),
    )
    return result


def status_json(one: Assessed, runbook_url: str = RUNBOOK_URL) -> dict[str, object]:
    """Give the live state of one cluster: the same object, and what is being waited for.

    `waiting_for` holds the words, first why the runbook's checkpoint does not open; `waits` the
    migration's own with names, brokers and times.
    `stale_seconds` is the age of the last answer of a controller, null before the first.
    There is no estimate on data that is not current, of a broker that stalled, and before there is
    a rate; `how` says which, or from what it was made. `limits` says what the sources do not see;
    `jmx` what the source of that name reports of itself.
    """
    assessment, walk = one.assessment, one.walk
    age = stale_ms(one.status, one.now_ms)
    eta, found, alerts = assessment.eta, assessment.etas, assessment.alerts
    return {
        **cluster_json(one.summary, (event for _, event in one.events)),
        "checkpoint": None if walk is None else walk.checkpoint,
        "waiting_for": [*(walk.holds if walk else ()), *(wait.text for wait in one.waits)],
        "eta_seconds": _eta_seconds(eta),
        "stale_seconds": None if age is None else age / 1000,
        "alerts": [alert_json(each, runbook_url) for each in alerts.active()],
        "waits": [_wait_json(wait) for wait in one.waits],
        "hazards": [hazard_json(each) for each in one.hazards],
        "broker_eta_seconds": {str(broker): _eta_seconds(each) for broker, each in found.items()},
        "limits": list(one.read.limits),
        "jmx": jmx_json(one.summary.jmx, one.read.jmx, one.now_ms),
        "walk": None if walk is None else _walk_json(walk),
        "eta": None if eta is None else _eta_json(eta),
        "broker_etas": {str(broker): _eta_json(each) for broker, each in found.items()},
        "pending_alerts": [alert_json(each, runbook_url) for each in alerts.pending()],
    }


def several_json(clusters: Iterable[dict[str, object]]) -> dict[str, object]:
    """Give several clusters, in the configuration's order."""
    return {"clusters": list(clusters)}


def _broker_json(summary: ClusterSummary, broker: BrokerSummary) -> dict[str, object]:
    early = broker.unfenced_early
    progress = broker.progress
    return {
        "id": broker.id,
        "epoch": broker.epoch,
        "mode": str(broker.mode),
        "fenced": broker.fenced,
        "held": broker.held,
        "log_dirs": list(broker.log_dirs),
        "replicas": {str(state): broker.replicas[state] for state in _REPLICA_ORDER},
        "registered_offset": broker.registered_offset,
        "unfenced_offset": broker.unfenced_offset,
        "assignments_complete_offset": broker.assignments_complete_offset,
        "unfenced_early": None
        if early is None
        else {"pending": early.pending, "duration_ms": early.duration_ms},
        "in_controlled_shutdown": broker.in_controlled_shutdown,
        "registered_at": _iso_or_none(broker.registered_ms),
        "unfenced_at": _iso_or_none(broker.unfenced_ms),
        "assignments_complete_at": _iso_or_none(broker.assignments_complete_ms),
        "progress": None
        if progress is None
        else {
            "assigned": progress.assigned,
            "first_at": iso(progress.first_ms),
            "last_at": iso(progress.last_ms),
            "rate_per_second": _rounded(rate_per_second(broker)),
        },
        "under_replicated": broker.under_replicated,
        "replicas_known": log_counts(summary, broker),
        "replicas_on_disk": on_disk(summary, broker.id),
    }


def _controllers_json(
    controllers: tuple[ControllerSummary, ...] | None,
) -> list[dict[str, object]] | None:
    if controllers is None:
        return None
    return [
        {
            "id": each.id,
            "zk_migration_ready": each.zk_migration_ready,
            "registered_offset": each.registered_offset,
            "registered_at": _iso_or_none(each.registered_ms),
        }
        for each in controllers
    ]


def _event_json(event: Event) -> dict[str, object]:
    fixed: dict[str, object] = {
        "offset": event.offset,
        "timestamp": _iso_or_none(event.timestamp_ms),
        "kind": event.kind,
        "broker": event.broker,
    }
    seen = {"source": str(event.source), "seen_at": _iso_or_none(event.seen_ms)}
    known = fixed | seen
    return fixed | {k: v for k, v in event.fields.items() if k not in known} | seen


def _eta_seconds(eta: Eta | None) -> float | None:
    return None if eta is None or isinstance(eta, NoEstimate) else round(eta.seconds, 3)


def _eta_json(eta: Eta) -> dict[str, object]:
    """Give an estimate with its interval and what it was made from; all but `how` null: none."""
    one = None if isinstance(eta, NoEstimate) else eta
    return {
        "broker": one and one.broker,
        "seconds": one and round(one.seconds, 3),
        "low_seconds": one and round(one.low, 3),
        "high_seconds": one and round(one.high, 3),
        "level": one and one.level,
        "assigned": one and one.assigned,
        "steps": one and one.steps,
        "over_seconds": one and one.over_ms / 1000,
        "how": str(eta) if one is None else one.how,
    }


def _wait_json(wait: Wait) -> dict[str, object]:
    return {
        "name": str(wait.kind),
        "reason": wait.text,
        "broker": wait.broker,
        "since": _iso_or_none(wait.since_ms),
    }


def finding_json(finding: Finding) -> dict[str, object]:
    """Give one condition, judged."""
    return {
        "condition": finding.condition,
        "verdict": str(finding.verdict),
        "reason": finding.reason,
        "evidence": list(finding.evidence),
        "broker": finding.broker,
        "evidence_total": max(finding.evidence_total, len(finding.evidence)),
    }


def hazard_json(hazard: Hazard) -> dict[str, object]:
    """Give one hazard."""
    return {
        "id": str(hazard.kind),
        "severity": str(hazard.severity),
        "blocks": None if hazard.blocks is None else str(hazard.blocks),
        "broker": hazard.broker,
        "text": hazard.text,
        "evidence": list(hazard.shown),
        "way_out": hazard.way_out,
        "since": _iso_or_none(hazard.since_ms),
        "evidence_total": hazard.evidence_total,
    }


def alert_json(standing: AlertState, runbook_url: str) -> dict[str, object]:
    """Give one alert; `runbook_url`: where the alerts' pages are."""
    alert = standing.alert
    broker = alert.labels.get("broker")
    since_ms = standing.found_ms if alert.since_ms is None else alert.since_ms
    return {
        "name": alert.name,
        "broker": None if broker is None else int(broker),
        "summary": alert.summary,
        "since": iso(since_ms),
        "severity": str(alert.severity),
        "description": alert.description,
        "details": list(alert.details),
        "labels": dict(alert.labels),
        "stands_since": _iso_or_none(standing.active_since_ms),
        "known": standing.is_known,
        "fingerprint": alert.fingerprint,
        "runbook_url": page_url(alert, runbook_url),
    }


def _walk_json(walk: WalkTold) -> dict[str, object]:
    return {
        "runbook": walk.runbook,
        "checkpoint": walk.checkpoint,
        "title": walk.title,
        "stage": None if walk.stage is None else str(walk.stage),
        "rolling_back": walk.path,
        "paused": walk.paused,
        "outcome": walk.outcome,
        "execute": walk.execute,
        "asks": walk.asks,
        "do": walk.shown,
        "findings": [each.model_dump(mode="json") for each in walk.findings],
        "checkpoints": [
            {
                "id": each.id,
                "stage": str(each.stage),
                "how": each.how,
                "entered_at": _iso_or_none(each.entered_ms),
                "ended_at": _iso_or_none(each.ended_ms),
            }
            for each in walk.places
        ],
        "unexpected": [{"at": iso(at_ms), "text": text} for at_ms, text in walk.unexpected],
        "observed_at": iso(walk.at_ms),
    }


def _iso_or_none(timestamp_ms: int | None) -> str | None:
    return None if timestamp_ms is None else iso(timestamp_ms)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
