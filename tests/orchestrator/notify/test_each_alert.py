"""The condition of each alert: scenes in which it holds, and scenes at its limits."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from migration.assessment.alerts import RULES, Alert
from migration.assessment.conditions import DataSource, Execution, View
from migration.assessment.hazards import HazardKind
from migration.image.summary import BrokerSummary, Mode, Phase, UnfencedEarly
from migration.observed.jmx import JmxImage, JmxNode
from migration.observed.source_status import SourceStatus
from tests.migration.assessment.conditions.views import (
    NOW,
    STALL_MS,
    all_disks,
    broker,
    counts,
    directory,
    disks,
    seen,
    stale,
    zk_brokers,
    zookeeper,
)
from tests.orchestrator.notify.scenes import ANSWERED, SOURCES, hazard, looked, scene, with_hazards

LOG, ZOOKEEPER, LOG_DIRS = SOURCES
JMX = DataSource.JMX
QUARTER_MS = 900_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
EARLY = UnfencedEarly(pending=12, duration_ms=None)
OFFLINE = disks(3, directory("/d1", error=56), directory("/d2"))
ID = "AQEBAQEBAQEBAQEBAQEBAQ"
NO_BROKERS = {DataSource.LOG_DIRS: "`brokers` is not configured"}
"""The configuration has no `brokers:`."""


def of(*brokers: BrokerSummary, **changes: object) -> View:
    """A view without hazards: those have rows of their own."""
    return replace(seen(*brokers, **changes), hazards=())


def held(since_ms: int | None = STALL_MS, **changes: object) -> BrokerSummary:
    """A broker that was held so many ms ago and has made no progress since."""
    registered_ms = None if since_ms is None else NOW - since_ms
    pending = counts(assigned=20, unassigned=12)
    one = broker(3, held=True, registered_ms=registered_ms, replicas=pending)
    return replace(one, **changes)  # type: ignore[arg-type]


def waiting(*registered_ms_ago: int | None) -> View:
    brokers = (
        broker(
            id_, Mode.MIGRATING, epoch=None if ago is None else 9, registered_ms=NOW - (ago or 0)
        )
        for id_, ago in enumerate(registered_ms_ago)
    )
    return of(*brokers, phase=Phase.PRE_MIGRATION)


def began(of_phase: View, ms_ago: int) -> View:
    return scene(of_phase, phase_began_ms=NOW - ms_ago)


def source(which: DataSource, status: SourceStatus, of_it: View | None = None) -> View:
    unseen = scene(stale(which, of=of_it or of()))
    return replace(unseen, sources={**unseen.sources, which: status})


def ahead(of_it: View, ms: int) -> View:
    """The same by a host whose clock is so many ms ahead of the controllers'."""
    log = replace(ANSWERED, record_ms=NOW - ms - 400, record_seen_ms=NOW - 400)
    return replace(of_it, sources={**of_it.sources, LOG: log})


def jmx(read_ms: int | None) -> JmxImage:
    return JmxImage(nodes={3: JmxNode(id=3, read_ms=read_ms)})


def forbids(kind: HazardKind) -> View:
    return with_hazards(hazard(kind))


def finalize(kind: HazardKind, phase: Phase) -> View:
    view = with_hazards(hazard(kind))
    return replace(view, summary=replace(view.summary, phase=phase))


def walk(checkpoint: str | None = "copy", **changes: object) -> View:
    return scene(of(), execution=Execution(at_ms=NOW, checkpoint=checkpoint, **changes))  # type: ignore[arg-type]


def alerts(one: View) -> Mapping[tuple[str, str], Alert]:
    found = (each.alert for each in looked(one).all.values())
    return {(each.name.removeprefix("Kraftgate"), str(each.severity)): each for each in found}


NEVER = SourceStatus(observed_ms=NOW)
"""It has not answered this process."""
STOPS = Execution(at_ms=NOW, checkpoint="back-znodes", path="from-hybrid", controllers_stop=True)
WITHOUT_ZOOKEEPER = replace(
    source(LOG, NEVER, of(metadata_offset=None, zookeeper=None)), configured=frozenset({LOG})
)
SILENT = disks(3, answered_ms=None, unreachable="no answer")
REFUSED = SourceStatus(observed_ms=NOW, error="the cluster id differs")
NOTIFIED = of(
    disks=None, zookeeper=zookeeper(kraft=False, notified={3: NOW}, brokers=zk_brokers(3))
)
SHRUNK = of(broker(3, unregistered={ID: NOW}), disks=None)
MISSED = of(
    *(broker(each, Mode.MIGRATING) for each in (1, 2, 3)),
    disks=None,
    zookeeper=zookeeper(kraft=False, missed_ms=NOW),
)
HALTED = of(
    broker(3, Mode.MIGRATING, fenced=True),
    disks=None,
    zookeeper=zookeeper(ever=frozenset({3})),
)
HOLDS = [
    ("AssignmentStalled", "warning", scene(of(held(STALL_MS + 1)))),
    ("AssignmentStalled", "warning", scene(of(held(None)))),
    ("AssignmentStalled", "warning", ahead(scene(of(held(1))), -STALL_MS)),
    ("AssignmentStalled", "critical", scene(of(held(3 * STALL_MS + 1)))),
    ("BrokerHeldTooLong", "warning", scene(of(held(HOUR_MS // 2 + 1)))),
    ("BrokerUnfencedEarly", "warning", scene(of(held(unfenced_early=EARLY)))),
    ("LogDirOffline", "warning", scene(of(disks=all_disks(OFFLINE)))),
    ("LogDirOffline", "warning", scene(stale(LOG, ZOOKEEPER, of=of(disks=all_disks(OFFLINE))))),
    ("LogDirOffline", "warning", scene(NOTIFIED, not_current=NO_BROKERS)),
    ("LogDirOffline", "warning", scene(SHRUNK, not_current=NO_BROKERS)),
    ("LogDirOffline", "warning", scene(MISSED, not_current=NO_BROKERS)),
    ("HazardBlocksRestart", "critical", scene(forbids(HazardKind.RESTART_LOSES_REPLICAS))),
    (
        "HazardBlocksRestart",
        "warning",
        scene(forbids(HazardKind.HALTED_IN_MIGRATION)),
    ),
    ("BrokersNotRegistered", "warning", scene(waiting(2 * HOUR_MS, HOUR_MS + 1))),
    ("BrokersNotRegistered", "warning", began(waiting(None), HOUR_MS + 1)),
    ("CopyTooLong", "critical", began(of(phase=Phase.COPYING), QUARTER_MS + 1)),
    ("HybridTooLong", "warning", began(of(phase=Phase.HYBRID), DAY_MS + 1)),
    ("DualWriteStuck", "critical", scene(finalize(HazardKind.DUAL_WRITE_STUCK, Phase.DUAL_WRITE))),
    ("FinalizeBlocked", "warning", scene(finalize(HazardKind.CONTENT_DIFFERS, Phase.HYBRID))),
    (
        "FinalizeBlocked",
        "warning",
        scene(finalize(HazardKind.FINALIZE_TOO_EARLY, Phase.DUAL_WRITE)),
    ),
    (
        "StaleMigrationZnode",
        "critical",
        scene(with_hazards(hazard(HazardKind.STALE_MIGRATION_ZNODE))),
    ),
    ("HarmDone", "critical", scene(with_hazards(hazard(HazardKind.RECORDS_LOST)))),
    ("StepNeedsDecision", "critical", walk(asks="the hook ended with 1")),
    ("StepNeedsDecision", "critical", walk(None, asks="its runbook was changed")),
    ("CheckpointViolated", "warning", walk(violated=("nothing_held: broker 3 is held",))),
    ("StreamStale", "critical", source(LOG, ANSWERED)),
    ("StreamStale", "critical", source(LOG, REFUSED)),
    ("StreamStale", "warning", source(ZOOKEEPER, ANSWERED)),
    ("StreamStale", "warning", source(LOG_DIRS, REFUSED)),
    ("StreamStale", "critical", source(LOG, NEVER)),
    ("StreamStale", "critical", source(LOG, NEVER, of(metadata_offset=None))),  # KRaft leads
    ("StreamStale", "critical", WITHOUT_ZOOKEEPER),
    ("StreamStale", "warning", source(ZOOKEEPER, NEVER)),
    ("StreamStale", "warning", source(LOG_DIRS, NEVER)),
    ("StreamStale", "warning", source(JMX, NEVER, of(jmx=jmx(NOW)))),
]
DOES_NOT_HOLD = [
    ("AssignmentStalled", "warning", scene(of(held(STALL_MS)))),
    ("AssignmentStalled", "warning", scene(stale(LOG, of=of(held(HOUR_MS))))),
    ("AssignmentStalled", "warning", ahead(scene(of(held(2 * HOUR_MS + 1))), 2 * HOUR_MS)),
    ("AssignmentStalled", "critical", scene(of(held(3 * STALL_MS)))),
    ("BrokerHeldTooLong", "warning", scene(of(held(HOUR_MS // 2)))),
    ("BrokerHeldTooLong", "warning", scene(stale(LOG, of=of(held(HOUR_MS))))),
    ("BrokerHeldTooLong", "warning", ahead(scene(of(held(2 * HOUR_MS + 1))), 2 * HOUR_MS)),
    ("BrokerUnfencedEarly", "warning", scene(of(held(unfenced_early=EARLY, fenced=True)))),
    ("BrokerUnfencedEarly", "warning", scene(stale(LOG, of=of(held(unfenced_early=EARLY))))),
    ("LogDirOffline", "warning", scene(stale(LOG_DIRS, of=of(disks=all_disks(OFFLINE))))),
    ("LogDirOffline", "warning", scene(stale(ZOOKEEPER, of=NOTIFIED))),
    ("LogDirOffline", "warning", scene(stale(LOG, of=SHRUNK))),
    ("LogDirOffline", "warning", scene(HALTED, not_current=NO_BROKERS)),
    (
        "LogDirOffline",
        "warning",
        scene(of(disks=all_disks(replace(OFFLINE, unreachable="no", log_dirs=())))),
    ),
    (
        "HazardBlocksRestart",
        "critical",
        scene(forbids(HazardKind.HALTED_IN_MIGRATION)),
    ),
    ("HazardBlocksRestart", "warning", scene(forbids(HazardKind.UNFENCED_EARLY))),
    (
        "HazardBlocksRestart",
        "warning",
        scene(forbids(HazardKind.ASSIGNMENT_QUEUE_FLAT)),
    ),
    ("BrokersNotRegistered", "warning", scene(waiting(2 * HOUR_MS, HOUR_MS))),
    ("BrokersNotRegistered", "warning", began(waiting(None), HOUR_MS)),
    (
        "BrokersNotRegistered",
        "warning",
        scene(replace(waiting(2 * HOUR_MS), summary=of(phase=Phase.HYBRID).summary)),
    ),
    ("BrokersNotRegistered", "warning", scene(stale(LOG, of=waiting(2 * HOUR_MS)))),
    ("CopyTooLong", "critical", began(of(phase=Phase.COPYING), QUARTER_MS)),
    ("CopyTooLong", "critical", began(of(phase=Phase.PRE_MIGRATION), QUARTER_MS + 1)),
    ("CopyTooLong", "critical", began(stale(LOG, of=of(phase=Phase.COPYING)), QUARTER_MS + 1)),
    ("HybridTooLong", "warning", began(of(phase=Phase.HYBRID), DAY_MS)),
    ("HybridTooLong", "warning", began(of(phase=Phase.DUAL_WRITE), DAY_MS + 1)),
    ("HybridTooLong", "warning", began(stale(LOG, of=of(phase=Phase.HYBRID)), DAY_MS + 1)),
    ("DualWriteStuck", "critical", scene(finalize(HazardKind.CONTENT_DIFFERS, Phase.DUAL_WRITE))),
    ("FinalizeBlocked", "warning", scene(finalize(HazardKind.DUAL_WRITE_STUCK, Phase.DUAL_WRITE))),
    ("FinalizeBlocked", "warning", scene(finalize(HazardKind.FINALIZE_TOO_EARLY, Phase.HYBRID))),
    ("StaleMigrationZnode", "critical", scene(with_hazards(hazard()))),
    ("HarmDone", "critical", scene(with_hazards(hazard()))),
    (
        "HarmDone",
        "critical",
        scene(with_hazards(hazard(HazardKind.ONE_DIRECTORY_LEFT))),
    ),
    ("StepNeedsDecision", "critical", walk()),
    ("StepNeedsDecision", "critical", walk(None, asks="it runs elsewhere", outcome="aborted")),
    ("CheckpointViolated", "warning", walk()),
    ("CheckpointViolated", "warning", walk(None, violated=("nothing_held: broker 3 is held",))),
    (
        "StreamStale",
        "critical",
        source(LOG, NEVER, of(metadata_offset=None, zookeeper=zookeeper(kraft=False))),
    ),
    ("StreamStale", "critical", source(LOG, ANSWERED, of(phase=Phase.ROLLED_BACK))),
    ("StreamStale", "critical", replace(source(LOG, ANSWERED), execution=STOPS)),
    ("StreamStale", "critical", source(ZOOKEEPER, ANSWERED)),
    ("StreamStale", "warning", source(LOG, ANSWERED)),
    ("StreamStale", "warning", source(ZOOKEEPER, NEVER, of(zookeeper=zookeeper(seen_ms=None)))),
    ("StreamStale", "warning", source(ZOOKEEPER, NEVER, of(zookeeper=None))),
    ("StreamStale", "warning", source(LOG_DIRS, NEVER, of(disks=all_disks(SILENT)))),
    ("StreamStale", "warning", source(LOG_DIRS, NEVER, of(disks=None))),
    ("StreamStale", "warning", source(JMX, NEVER, of(jmx=jmx(None)))),
]


@pytest.mark.parametrize(("name", "severity", "one"), HOLDS)
def test_its_condition_holds(name: str, severity: str, one: View) -> None:
    found = alerts(one)[name, severity]
    assert found.labels["cluster"] == "prod"
    assert "prod" in found.description


@pytest.mark.parametrize(("name", "severity", "one"), DOES_NOT_HOLD)
def test_its_condition_does_not_hold(name: str, severity: str, one: View) -> None:
    assert (name, severity) not in alerts(one)


@pytest.mark.parametrize(
    ("one", "labels", "which"),
    [
        (of(disks=all_disks(OFFLINE)), {"broker": "3", "log_dir": "/d1"}, "broker 3: /d1 is"),
        (SHRUNK, {"broker": "3", "directory": ID}, f"broker 3: directory {ID} is"),
        (NOTIFIED, {"broker": "3"}, "broker 3: one of its log directories is"),
        (MISSED, {}, "Find the broker whose log directory failed"),
    ],
)
def test_a_failed_directory_has_the_best_known_name(
    one: View, labels: dict[str, str], which: str
) -> None:
    found = alerts(scene(one))["LogDirOffline", "warning"]
    assert {
        k: found.labels.get(k) for k in ("broker", "log_dir", "directory") if found.labels.get(k)
    } == labels
    assert which in found.description
    assert found.for_ms == 10_000


def test_a_missed_notification_names_the_brokers_to_check() -> None:
    found = alerts(scene(MISSED, not_current=NO_BROKERS))["LogDirOffline", "warning"]
    assert "one of 1, 2, 3. Restart none of them before" in found.description


def test_every_alert_has_a_scene_of_both_kinds() -> None:
    every = {(rule.name.removeprefix("Kraftgate"), str(rule.severity)) for rule in RULES}
    assert {(name, severity) for name, severity, _ in HOLDS} == every
    assert {(name, severity) for name, severity, _ in DOES_NOT_HOLD} == every
