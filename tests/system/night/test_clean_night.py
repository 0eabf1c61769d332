"""What is shown of a night in which nothing goes wrong, and that nobody is woken.

One migration for all tests of this file, for it takes minutes.
"""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from migration.metadata.events import Source
from tests.oracle.compare import differences
from tests.oracle.projection import project_texts
from tests.orchestrator.notify.rules import rules
from tests.orchestrator.views.metrics.dashboard.queries import Asked, queries
from tests.orchestrator.views.report.witness import witnessed
from tests.support import older
from tests.support.approving import ANNA, APPROVERS
from tests.support.prometheus import api, ask, ask_range
from tests.system.killing import CLUSTER
from tests.system.night.night import Night, clean_night
from tests.system.night.reported import by_registration, cluster_of, is_told_as_logged, reported

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.prometheus,
    pytest.mark.long(minutes=3.5),
]

START_S: Final = 60.0
"""So long Kraftgate may take before it is scraped; Spark starts in it."""
QUERIES: Final = tuple(queries(CLUSTER))
EMPTY_ON_A_CLEAN_NIGHT: Final = frozenset(
    {
        "Directories that cannot be used, A",
        "annotation Alerts",
        *(f"Notices that Kraftgate sends, {query}" for query in "ABC"),
    }
)
"""What shows trouble, or receivers that are not configured here;
tests/orchestrator/views/metrics/dashboard has both.
"""
TOO_SHORT_TO_BE_SURE: Final = frozenset(
    {
        "Nothing held in, A",
        "Nothing held in, over time, A",
        "Nothing held in, over time, B",
        "Nothing held in, over time, C",
        "Rate, A",
        "Hazards over time, A",
        "Hazards that stand, A",
        "Alerts by Kraftgate itself, A",
        "Alerts of Prometheus, A",
    }
)
"""A hold of so few replicas, or an alert that is pending while Kraftgate starts, is over within a
moment, seldom seen by a scrape each second.
"""


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    with clean_night(tmp_path_factory.mktemp("night")) as night:
        yield night


def test_nothing_above_info_fires(night: Night) -> None:
    assert {name for name, found in night.told.severities().items() if found != {"info"}} == set()
    fired = ask_range(night.prometheus, 'ALERTS{alertstate="firing"}', night.began_s, time.time())
    assert [dict(labels) for labels in fired if dict(labels)["severity"] != "info"] == []


def test_every_rule_was_evaluated_all_night(night: Night) -> None:
    """Else nothing could have fired."""
    found = [each for group in api(night.prometheus, "rules")["groups"] for each in group["rules"]]
    names = [each.get("alert") or each["record"] for each in rules()]
    assert sorted(each["name"] for each in found) == sorted(names)
    assert {each["health"] for each in found} == {"ok"}
    seen = 'count_over_time(kraftgate_phase{phase="finalized"}[1h])'
    ((_, scrapes),) = ask(night.prometheus, seen, time=night.ended_s).items()
    assert scrapes > 0.5 * (night.ended_s - night.began_s - START_S)


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.where)
def test_the_dashboard_shows_the_night(night: Night, asked: Asked) -> None:
    found = ask_range(night.prometheus, asked.expr, night.began_s, night.ended_s)
    if asked.where in EMPTY_ON_A_CLEAN_NIGHT:
        assert not found
    elif asked.where not in TOO_SHORT_TO_BE_SURE:
        assert found


def test_each_phase_was_seen(night: Night) -> None:
    seen = ask_range(night.prometheus, "kraftgate_phase == 1", night.began_s, night.ended_s)
    began = {dict(labels)["phase"]: values[0][0] for labels, values in seen.items()}
    order = ["zookeeper", "pre-migration", "hybrid", "dual-write", "finalized"]
    assert [phase for phase in sorted(began, key=began.__getitem__) if phase != "copying"] == order


def test_the_report_has_brokers_as_the_controller_logged_them(night: Night) -> None:
    logged = witnessed(night.dumps)
    told = by_registration(cluster_of(night.config))
    assert {(each.broker, each.registered_offset) for each in logged} == told.keys()
    assert any(each.held for each in logged)
    for each in logged:
        is_told_as_logged(each, told[each.broker, each.registered_offset])


def test_the_status_is_what_the_controller_logged(night: Night) -> None:
    """Kafka writes no-op records after the status was printed."""
    oracle = project_texts(night.dumps)
    assert night.status["metadata_offset"] <= oracle.pop("metadata_offset")
    logged = [each for each in night.status["events"] if each["source"] == Source.KRAFT_METADATA]
    assert differences(night.status | {"events": logged}, oracle) == []


def test_an_older_release_is_migrated_too(night: Night) -> None:
    assert night.versions == {older.VERSION}
    assert (night.status["metadata_version"], night.status["limits"]) == (20, [])
    assert "warn: broker-versions" in night.preflight


def test_the_report_has_what_was_decided_and_nothing_that_was_not(night: Night) -> None:
    told = cluster_of(night.config)
    # A screen that is a tick old asks once more; the second approval of one login counts as none.
    approved = dict.fromkeys(
        (each["checkpoint"], each["who"])
        for each in told["decisions"]
        if each["kind"] == "approved"
    )
    (finalize,) = {checkpoint for checkpoint, _ in approved} - {"zookeeper-off"}
    assert list(approved) == [
        *((finalize, each) for each in APPROVERS),
        ("zookeeper-off", ANNA),
    ]
    (walk,) = told["walks"]
    assert walk["outcome"] == "completed"
    assert {each["result"] for each in walk["checkpoints"]} <= {"passed", "not needed"}
    assert told["window"]["ended"]
    assert (told["losses"], told["attention"]) == ([], [])
    assert {each["severity"] for each in told["hazards"]} <= {"warning"}
    assert {each["severity"] for each in told["alerts"]} <= {"info"}
    assert all(each["ended_at"] is not None for each in told["hazards"])
    assert not any(run["killed"] for run in told["runs"])


def test_the_report_is_a_page_too(night: Night) -> None:
    assert reported(night.config, "html").count("<svg") == 3
    assert reported(night.config, "markdown").startswith("# Kraftgate report")
