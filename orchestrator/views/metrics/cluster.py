"""The metrics of one cluster: phase, log, sources, hazards, waits, execution, alerts."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from migration.assessment.alerts import RULES, AlertState, AlertStates
from migration.assessment.conditions import Verdict, hazards_not_known
from migration.assessment.hazards import HazardKind
from migration.assessment.waits import WaitKind
from migration.comparison.result import Compared
from migration.image.summary import Mode, Phase
from migration.metadata.versions import name_of
from migration.observed.source_status import NO_STATUS
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.notify.sender import SenderStats
from orchestrator.run.assessed import Assessed
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.views.metrics.exposition import Exposition, Subject

CLUSTER: Final = Subject("kraftgate", "cluster")

_PHASE: Final = CLUSTER.gauge(
    "phase", "Whether the migration is in this phase, by the last read state.", "phase"
)
_PHASE_CHANGED: Final = CLUSTER.gauge(
    "phase_changed_timestamp_seconds", "When the current phase began."
)
_OFFSET: Final = CLUSTER.gauge(
    "metadata_offset", "The offset of the last processed record of the metadata log."
)
_HIGH_WATERMARK: Final = CLUSTER.gauge(
    "metadata_high_watermark",
    "The first offset that is not committed, as last reported by a controller.",
)
_RECORD_TIME: Final = CLUSTER.gauge(
    "metadata_record_timestamp_seconds", "The timestamp of the last processed record."
)
_LEADER_EPOCH: Final = CLUSTER.gauge(
    "metadata_leader_epoch", "The leader epoch of the last processed record."
)
_VERSION: Final = CLUSTER.gauge(
    "metadata_version_level", "The level of the finalized metadata.version."
)
_UNKNOWN_RECORDS: Final = CLUSTER.gauge(
    "metadata_unknown_records", "Records of types that this version does not know and skipped."
)
_ACTIVE_CONTROLLER: Final = CLUSTER.gauge(
    "active_controller", "1 for the controller that leads the metadata quorum.", "controller"
)
_BROKERS: Final = CLUSTER.gauge("brokers", "Known brokers by mode.", "mode")
_TOPICS: Final = CLUSTER.gauge("topics", "Topics in the metadata log.")
_PARTITIONS: Final = CLUSTER.gauge("partitions", "Partitions in the metadata log.")
_UNDER_REPLICATED: Final = CLUSTER.gauge(
    "under_replicated_partitions", "Partitions with a replica that is not in the ISR."
)
_LEADERLESS: Final = CLUSTER.gauge("leaderless_partitions", "Partitions without a leader.")
_REASSIGNING: Final = CLUSTER.gauge(
    "reassigning_partitions", "Partitions with replicas that are being added or removed."
)
_ZK_CONTROLLER: Final = CLUSTER.gauge(
    "zookeeper_controller", "Whether a KRaft controller, or a broker, holds /controller.", "holder"
)
_ZNODE_WRITTEN: Final = CLUSTER.gauge(
    "migration_znode_written_timestamp_seconds",
    "When /migration was last written: ZooKeeper's time, between the two observations around it.",
)
_ZNODE_OFFSET: Final = CLUSTER.gauge(
    "migration_znode_offset", "The metadata offset in /migration; positive once the copy is done."
)
_COMPARED_AT: Final = CLUSTER.gauge(
    "comparison_timestamp_seconds", "When this was last compared with the metadata log.", "of"
)
_DIFFERENCES: Final = CLUSTER.gauge(
    "comparison_differences", "Differences that two comparisons found.", "of"
)
_EVENTS: Final = CLUSTER.counter(
    "events", "Events on the timeline, including earlier runs.", "kind"
)


def add_cluster(into: Exposition, one: Assessed) -> None:
    name, summary, view, tally = one.name, one.summary, one.assessment.view, one.read.tally
    if (phase := summary.known_phase) is not None:
        into.state(_PHASE, phase, Phase, name)
        into.time(_PHASE_CHANGED, tally.phase_began_ms(phase), name)
    if summary.metadata_offset is not None:
        into.value(_OFFSET, summary.metadata_offset, name)
        into.time(_RECORD_TIME, summary.observed_ms, name)
        into.value(_LEADER_EPOCH, summary.leader_epoch, name)
        into.value(_VERSION, summary.metadata_version, name)
        into.value(_UNKNOWN_RECORDS, summary.unknown_records, name)
        if view.active_controller is not None:
            into.value(_ACTIVE_CONTROLLER, 1, name, view.active_controller)
    for mode in Mode if summary.brokers else ():
        into.value(_BROKERS, sum(each.mode is mode for each in summary.brokers), name, mode)
    if one.assessment.knows_partitions:
        into.value(_TOPICS, summary.topics, name)
        into.value(_PARTITIONS, summary.partitions, name)
        into.value(_UNDER_REPLICATED, summary.under_replicated, name)
        into.value(_LEADERLESS, summary.leaderless, name)
        into.value(_REASSIGNING, summary.reassigning, name)
    if summary.zookeeper is not None:
        _add_zookeeper(into, name, summary.zookeeper)
    _add_comparison(into, name, "zookeeper", summary.content)
    _add_comparison(into, name, "log_dirs", summary.places)
    for kind, count in sorted(tally.counts.items()):
        into.value(_EVENTS, count, name, kind)
    into.value(_HIGH_WATERMARK, one.read.status.high_watermark, name)


def _add_zookeeper(into: Exposition, cluster: str, seen: ZooKeeperImage) -> None:
    if seen.controller is not None:
        kraft = seen.controller.is_kraft
        into.value(_ZK_CONTROLLER, kraft, cluster, "kraft")
        into.value(_ZK_CONTROLLER, not kraft, cluster, "zookeeper")
    if seen.migration is not None:
        into.time(_ZNODE_WRITTEN, seen.migration.written_ms, cluster)
        into.value(_ZNODE_OFFSET, seen.migration.offset, cluster)


def _add_comparison(into: Exposition, cluster: str, of: str, found: Compared) -> None:
    if found.at_ms is not None:
        into.time(_COMPARED_AT, found.at_ms, cluster, of)
        into.value(_DIFFERENCES, sum(found.lasting.values()), cluster, of)


_CLUSTER_INFO: Final = CLUSTER.info(
    "cluster",
    "The cluster's id, its finalized metadata.version by name, and the runbook. An "
    "empty label is unknown, or none.",
    "cluster_id",
    "metadata_version",
    "runbook",
)


def add_identity(into: Exposition, one: Assessed) -> None:
    """Add the identity, once at least one of its labels is known."""
    level = one.summary.metadata_version
    version = None if level is None else name_of(level)
    labels = (
        one.read.status.cluster_id,
        version,
        None if one.read.execution is None else one.read.execution.runbook,
    )
    if any(label is not None for label in labels):
        into.value(_CLUSTER_INFO, 1, one.name, *(label or "" for label in labels))


SOURCE: Final = Subject("kraftgate_source", "cluster", "source")

_CURRENT: Final = SOURCE.gauge(
    "current",
    "Whether the data of this source is current. Only for configured sources that the "
    "cluster still has.",
)
_REPLY: Final = SOURCE.gauge("last_reply_timestamp_seconds", "When the source last got an answer.")
_ERROR: Final = SOURCE.gauge("error", "Whether the source has an error that an operator must fix.")
_UNREAD: Final = SOURCE.gauge(
    "unread", "Records or facts that were received and not processed yet."
)


def add_sources(into: Exposition, one: Assessed) -> None:
    name, unread = one.entry.name, one.unread
    for source, status in one.configured.items():
        into.value(_CURRENT, one.assessment.current[source], name, source)
        into.time(_REPLY, status.last_reply_ms, name, source)
        if status != NO_STATUS:
            into.value(_ERROR, status.error is not None, name, source)
        into.value(_UNREAD, unread.get(source), name, source)


_HAZARD: Final = CLUSTER.gauge(
    "hazard",
    "1 for each active hazard, with its broker, if any, and the step that it blocks, if any.",
    "hazard",
    "severity",
    "blocks",
    "broker",
)
_HAZARD_ACTIVE: Final = CLUSTER.gauge(
    "hazard_active",
    "Whether a hazard of this kind is active. 0 only if every source that would show "
    "it is current.",
    "hazard",
)
_HAZARDS_KNOWN: Final = CLUSTER.gauge(
    "hazards_known", "Whether every source that would show a hazard is current."
)
_WAITS: Final = CLUSTER.gauge(
    "waits", "Waits of this name. While a source is not current, only the wait for it.", "wait"
)


def add_hazards(into: Exposition, one: Assessed) -> None:
    """Add the active hazards, and for each kind whether it is active, where that is known."""
    name = one.name
    known = not hazards_not_known(one.assessment.view)
    active = {each.kind for each in one.assessment.hazards}
    for each in one.assessment.hazards:
        broker = "" if each.broker is None else each.broker
        into.value(_HAZARD, 1, name, each.kind, each.severity, each.blocks or "", broker)
    for kind in HazardKind:
        if known or kind in active:
            into.value(_HAZARD_ACTIVE, kind in active, name, kind)
    into.value(_HAZARDS_KNOWN, known, name)


def add_waits(into: Exposition, one: Assessed) -> None:
    """Add the number of waits of each kind; if the data is not complete, of found kinds."""
    found = [each.kind for each in one.assessment.waits]
    complete = one.assessment.log.is_complete and WaitKind.NOT_RUNNING not in found
    for kind in WaitKind:
        if complete or kind in found:
            into.value(_WAITS, found.count(kind), one.name, kind)


_CHECKPOINT: Final = CLUSTER.gauge(
    "checkpoint", "1 for the current checkpoint of the execution.", "checkpoint", "stage"
)
_ENTERED: Final = CLUSTER.gauge(
    "checkpoint_entered_timestamp_seconds",
    "When the execution entered the checkpoint.",
    "checkpoint",
)
_CONDITIONS: Final = CLUSTER.gauge(
    "checkpoint_conditions",
    "Conditions of the checkpoint's guards or gate, by verdict.",
    "checkpoint",
    "verdict",
)
_VERDICTS: Final = (Verdict.SATISFIED, Verdict.WAITING, Verdict.VIOLATED, Verdict.UNKNOWN)
_ASKS: Final = CLUSTER.gauge(
    "step_needs_decision",
    "Whether an operator must decide about the checkpoint's step.",
    "checkpoint",
)
_PAUSED: Final = CLUSTER.gauge("walk_paused", "Whether an operator paused the execution.")
_EXECUTES: Final = CLUSTER.gauge("walk_executes", "Whether hooks perform the steps.")
_REPORTED: Final = CLUSTER.gauge(
    "walk_told_timestamp_seconds", "When the execution last reported its state."
)


def add_execution(into: Exposition, cluster: str, walk: ExecutionStatus) -> None:
    """Add the state of the execution; the checkpoint's only while it is at a checkpoint."""
    into.value(_PAUSED, walk.paused is not None, cluster)
    into.value(_EXECUTES, walk.execute, cluster)
    into.time(_REPORTED, walk.at_ms, cluster)
    if walk.checkpoint is None:
        return
    at = (cluster, walk.checkpoint)
    into.value(_CHECKPOINT, 1, *at, walk.stage or "")
    entered = next((each.entered_ms for each in walk.places if each.id == walk.checkpoint), None)
    into.time(_ENTERED, entered, *at)
    verdicts = [each.verdict for each in walk.findings]
    for verdict in _VERDICTS:
        into.value(_CONDITIONS, verdicts.count(verdict), *at, verdict)
    into.value(_ASKS, walk.asks is not None, *at)


_ALERTS: Final = CLUSTER.gauge(
    "alerts",
    "Active and pending alerts. An alert stays active until current data shows that "
    "it is resolved.",
    "alertname",
    "severity",
    "state",
)
_IDENTITY: Final = (
    "alertname",
    "severity",
    "broker",
    "log_dir",
    "directory",
    "hazard",
    "blocks",
    "source",
    "checkpoint",
    "verdict",
)
"""The labels of every alert except `cluster`; an alert has some of them, the others are empty."""
_ALERT: Final = CLUSTER.gauge(
    "alert",
    "1 for each alert whose condition holds. The Prometheus rules read it and wait "
    "for their `for`. An active alert stays until current data shows that it is "
    "resolved.",
    *_IDENTITY,
)
_SINCE: Final = CLUSTER.gauge(
    "alert_since_timestamp_seconds",
    "When the condition of that alert began, or when Kraftgate first saw it.",
    *_IDENTITY,
)
_WAITING_RULES: Final = frozenset((rule.name, rule.severity) for rule in RULES if rule.for_ms)

NOTICES: Final = Subject("kraftgate_notices", "receiver")

_SENT: Final = NOTICES.counter(
    "sent", "Notifications or heartbeats that the receiver accepted since the start."
)
_FAILED: Final = NOTICES.counter("failed", "Failed attempts to notify the receiver.")
_WAITING: Final = NOTICES.gauge("waiting", "Notifications that are due and not delivered yet.")
_SUCCESS: Final = NOTICES.gauge(
    "last_success_timestamp_seconds",
    "When the receiver last accepted a notification, including earlier runs.",
)


def add_notifications(into: Exposition, receivers: Mapping[str, SenderStats]) -> None:
    for name, stats in receivers.items():
        into.value(_SENT, stats.sent, name)
        into.value(_FAILED, stats.failed, name)
        into.value(_WAITING, stats.waiting, name)
        into.time(_SUCCESS, stats.success_ms, name)


def add_alerts(into: Exposition, cluster: str, alerts: AlertStates) -> None:
    """Add each alert, and for each rule the number of active and of pending alerts."""
    if alerts.at_ms is None:
        return
    counts = Counter(
        (each.alert.name, each.alert.severity, each.active_since_ms is not None)
        for each in alerts.all.values()
    )
    for rule in RULES:
        for state, is_active in (("firing", True), ("pending", False)):
            number = counts[rule.name, rule.severity, is_active]
            into.value(_ALERTS, number, cluster, rule.name, rule.severity, state)
    for each in alerts.all.values():
        _add_alert(into, cluster, each)


def _add_alert(into: Exposition, cluster: str, one: AlertState) -> None:
    """Add an alert, unless it is pending and its Prometheus rule has no `for`.

    A stalled broker without timestamps is such a case: only Kraftgate waits for it.
    """
    alert = one.alert
    if one.active_since_ms is None and (alert.name, alert.severity) not in _WAITING_RULES:
        return
    labels = {"alertname": alert.name, **alert.labels}
    identity = [labels.get(label, "") for label in _IDENTITY]
    into.value(_ALERT, 1, cluster, *identity)
    known = (alert.since_ms, alert.bound_ms, one.found_ms)
    since_ms = next(each for each in known if each is not None)
    into.time(_SINCE, since_ms, cluster, *identity)
