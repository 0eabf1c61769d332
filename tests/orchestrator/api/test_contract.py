"""The JSON contract: its keys and their order stay."""

import json
from dataclasses import replace

from migration.assessment.alerts import Alert, AlertState, AlertStates
from migration.assessment.waits import nothing_seen
from migration.image.summary import ClusterSummary, ControllerSummary, Phase, UnfencedEarly
from migration.metadata.events import Event
from migration.observed.source_status import SourceStatus
from orchestrator.api.status import cluster_json, clusters_json, status_json
from orchestrator.run.reader import ClusterRead
from tests.scenes.night import (
    EVENTS,
    FIVE_MINUTES_MS,
    FRESH,
    HYBRID,
    NOW_MS,
    cluster,
    held,
    kraft,
    progress,
)
from tests.support.assessing import assessed, waits


def status_of(
    summary: ClusterSummary, now_ms: int = NOW_MS, status: SourceStatus = FRESH
) -> dict[str, object]:
    return status_json(assessed(ClusterRead(summary=summary, events=(), status=status), now_ms))


def test_a_cluster_has_the_contracts_keys_in_their_order() -> None:
    early = kraft(1, unfenced_early=UnfencedEarly(pending=32, duration_ms=70))
    state = cluster_json(cluster(Phase.FINALIZED, early), [event for _, event in EVENTS])
    assert list(state)[:6] == [
        "metadata_offset",
        "phase",
        "topics",
        "partitions",
        "brokers",
        "events",
    ]
    assert (state["metadata_offset"], state["phase"]) == (1439, "finalized")
    assert "complete" not in state


def test_a_broker_has_the_contracts_keys_in_their_order() -> None:
    early = kraft(1, unfenced_early=UnfencedEarly(pending=32, duration_ms=70))
    state = json.loads(json.dumps(cluster_json(cluster(Phase.FINALIZED, early), [])))
    (broker,) = state["brokers"]
    first = dict(list(broker.items())[:11])
    assert json.dumps(first) == (
        '{"id": 1, "epoch": 645, "mode": "kraft", "fenced": false, "held": false, "log_dirs":'
        ' ["uSLaubyUxZGsRKrz8FtoCw", "AQEBAQEBAQEBAQEBAQEBAQ"], "replicas": {"migrating": 0,'
        ' "unassigned": 0, "assigned": 32, "offline": 0, "lost": 0, "reserved": 0},'
        ' "registered_offset": 645, "unfenced_offset": 648, "assignments_complete_offset": 680,'
        ' "unfenced_early": {"pending": 32, "duration_ms": 70}}'
    )


def test_what_lacks_replicas_and_leaders_is_told_and_who_the_controllers_are() -> None:
    one = ControllerSummary(
        id=3000, zk_migration_ready=True, registered_offset=5, registered_ms=1000
    )
    summary = replace(
        cluster(Phase.HYBRID, kraft(1, under_replicated=3)),
        under_replicated=4,
        leaderless=0,
        reassigning=1,
        controllers=(one,),
    )
    state = json.loads(json.dumps(cluster_json(summary, [])))
    assert (state["under_replicated"], state["leaderless"], state["reassigning"]) == (4, 0, 1)
    assert [each["under_replicated"] for each in state["brokers"]] == [3]
    assert state["controllers"] == [
        {
            "id": 3000,
            "zk_migration_ready": True,
            "registered_offset": 5,
            "registered_at": "1970-01-01T00:00:01.000Z",
        }
    ]
    before = cluster_json(nothing_seen("prod"), [])
    assert (before["under_replicated"], before["controllers"]) == (None, None)


def test_a_replay_has_the_counts_of_the_log_itself() -> None:
    """Also before the copy, when they are not those of the cluster."""
    before = cluster(Phase.PRE_MIGRATION, kraft(1, under_replicated=0))
    state = json.loads(json.dumps(cluster_json(replace(before, topics=0, partitions=0), [])))
    assert (state["topics"], state["partitions"]) == (0, 0)
    assert [each["under_replicated"] for each in state["brokers"]] == [0]


def test_an_event_keeps_its_own_fields_behind_the_fixed_ones() -> None:
    event = Event(offset=645, timestamp_ms=0, kind="x", broker=1, fields={"offset": 9, "mode": "k"})
    state = cluster_json(cluster(Phase.HYBRID), [event])
    assert state["events"] == [
        {
            "offset": 645,
            "timestamp": "1970-01-01T00:00:00.000Z",
            "kind": "x",
            "broker": 1,
            "mode": "k",
            "source": "kraft_metadata",
            "seen_at": None,
        }
    ]


def test_a_damaged_file_is_marked_incomplete() -> None:
    assert cluster_json(cluster(Phase.HYBRID), [], complete=False)["complete"] is False


def test_the_status_adds_what_is_waited_for() -> None:
    reasons = waits(HYBRID.summary, FRESH, NOW_MS, FIVE_MINUTES_MS)
    state = status_of(HYBRID.summary)
    assert state["checkpoint"] is None
    assert state["waiting_for"] == [wait.text for wait in reasons]
    assert state["stale_seconds"] == 0.4
    assert state["eta_seconds"] == 9.733
    assert state["alerts"] == []
    first = state["waits"][0]  # type: ignore[index]
    assert (first["name"], first["broker"]) == ("broker_held", 3)
    json.dumps(state, allow_nan=False)


def test_an_estimate_stands_with_its_interval_and_how_it_was_made() -> None:
    other = held(4, progress=progress((9_000, 1), (1_000, 2)))
    both = cluster(Phase.HYBRID, held(3), other, kraft(1))
    state = json.loads(json.dumps(status_of(both)))
    assert list(state)[-4:] == ["eta", "broker_etas", "pending_alerts", "next"]
    one = state["broker_etas"]["3"]
    assert list(one) == [
        "broker",
        "seconds",
        "low_seconds",
        "high_seconds",
        "level",
        "assigned",
        "steps",
        "over_seconds",
        "how",
    ]
    assert (one["seconds"], state["broker_eta_seconds"]) == (9.733, {"3": 9.733, "4": 52.2})
    assert one["low_seconds"] < one["seconds"] < one["high_seconds"]
    assert one["how"] == "from 50 assignments in 3 steps over 29 s; 90 % interval"
    assert (state["eta"]["broker"], state["eta"]["seconds"]) == (4, state["eta_seconds"])


def test_why_there_is_no_estimate_is_said() -> None:
    brokers = (held(3, progress=None), held(4, progress=progress((400_000, 2), (399_000, 9))))
    state = status_of(cluster(Phase.HYBRID, *brokers))
    found = json.loads(json.dumps(state["broker_etas"]))
    assert [each["how"] for each in found.values()] == [
        "none yet: no two moments at which replicas got a directory",
        "none: it made no progress for too long",
    ]
    assert {value for each in found.values() for key, value in each.items() if key != "how"} == {
        None
    }
    settled = status_of(cluster(Phase.DUAL_WRITE, kraft(1)))
    assert (settled["eta"], settled["broker_etas"]) == (None, {})


def test_active_alerts_and_pending_ones_are_apart() -> None:
    stalled = Alert(
        name="KraftgateAssignmentStalled",
        labels={"severity": "warning", "cluster": "prod", "broker": "3"},
        summary="None gets one.",
        description="Broker 3 waits.",
        details=("12 of 64",),
        since_ms=0,
    )
    stale = replace(stalled, name="KraftgateStreamStale", labels={"severity": "critical"})
    told = AlertStates(
        all={
            "a": AlertState(alert=stalled, found_ms=1000, active_since_ms=2000),
            "b": AlertState(
                alert=replace(stale, since_ms=None), found_ms=1000, active_since_ms=None
            ),
        }
    )
    one = assessed(ClusterRead(summary=HYBRID.summary, events=(), status=FRESH), NOW_MS)
    given = status_json(replace(one, assessment=replace(one.assessment, alerts=told)))
    state = json.loads(json.dumps(given))
    (alert,) = state["alerts"]
    assert alert == {
        "name": "KraftgateAssignmentStalled",
        "broker": 3,
        "summary": "None gets one.",
        "since": "1970-01-01T00:00:00.000Z",
        "severity": "warning",
        "description": "Broker 3 waits.",
        "details": ["12 of 64"],
        "labels": {"severity": "warning", "cluster": "prod", "broker": "3"},
        "stands_since": "1970-01-01T00:00:02.000Z",
        "known": True,
        "fingerprint": stalled.fingerprint,
        "runbook_url": "https://kraftgate.example/runbooks/alerts/KraftgateAssignmentStalled.md",
    }
    (pending,) = state["pending_alerts"]
    assert (pending["name"], pending["broker"]) == ("KraftgateStreamStale", None)
    assert (pending["since"], pending["stands_since"]) == ("1970-01-01T00:00:01.000Z", None)


def test_nothing_seen_is_null_and_not_nought() -> None:
    state = status_of(nothing_seen("prod"))
    assert state["metadata_offset"] is None
    assert state["eta_seconds"] is None


def test_what_the_sources_do_not_see_is_said() -> None:
    assert status_of(HYBRID.summary)["limits"] == []
    told = status_of(HYBRID.summary, status=replace(FRESH, limits=("topics are polled",)))
    assert told["limits"] == ["topics are polled"]


def test_an_untested_metadata_version_is_said_unless_nothing_is_migrated() -> None:
    def limits(level: int, phase: Phase) -> object:
        return status_of(replace(HYBRID.summary, metadata_version=level, phase=phase))["limits"]

    assert "3.7-IV4" in str(limits(19, Phase.HYBRID))
    assert limits(20, Phase.HYBRID) == limits(21, Phase.HYBRID) == limits(19, Phase.KRAFT) == []


def test_several_clusters_are_a_list() -> None:
    assert clusters_json([{"a": 1}, {"b": 2}], many=True) == {"clusters": [{"a": 1}, {"b": 2}]}


def test_data_that_is_not_current_gives_no_estimate() -> None:
    later = NOW_MS + 60_000
    state = status_of(HYBRID.summary, later)
    assert (state["eta_seconds"], state["stale_seconds"]) == (None, 60.4)
    assert state["broker_eta_seconds"] == {"3": None}
    assert state["eta"]["how"] == "none: the data is not current"  # type: ignore[index]
