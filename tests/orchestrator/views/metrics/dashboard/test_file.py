"""The file that is imported: a dashboard that fits any Grafana, and has what the code has."""

import json
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from migration.image.summary import Phase
from migration.metadata.replica_state import ReplicaState
from orchestrator.views.metrics.collector import metrics
from tests.orchestrator.notify.rules import metrics_in
from tests.orchestrator.views.metrics.dashboard.queries import (
    FILE,
    Asked,
    dashboard,
    panels,
    queries,
)

UID = "kraftgate-migration"
"""Links to the dashboard, and an import that replaces an older one, go by it."""
COLUMNS = 24
EVERY = tuple(queries("prod"))
VARIABLES = {"datasource", "cluster", "broker"}


def test_the_file_has_one_form() -> None:
    """An export from Grafana shows only what was changed: `jq --sort-keys . EXPORT`."""
    form = json.dumps(dashboard(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert FILE.read_text("utf-8") == form


def test_every_phase_and_every_state_of_a_replica_has_its_colour() -> None:
    by_title = {each["title"]: each for each in panels()}
    for title in ("Phase", "Phase over time"):
        phases = by_title[title]["fieldConfig"]["defaults"]["mappings"][0]["options"]
        expr = by_title[title]["targets"][0]["expr"]
        assert {each["text"] for each in phases.values()} == set(map(str, Phase))
        for number, phase in phases.items():
            assert f'phase="{phase["text"]}"}} * {number}\n' in expr
    states = by_title["Replicas by what is known of their directory"]["fieldConfig"]["overrides"]
    assert {each["matcher"]["options"] for each in states} == set(map(str, ReplicaState))


def test_it_can_be_imported_anywhere_and_over_itself() -> None:
    one = dashboard()
    assert (one["uid"], one["id"], one["schemaVersion"]) == (UID, None, 42)
    assert 8 <= len(UID) <= 40
    assert {each["name"] for each in one["templating"]["list"]} == VARIABLES
    assert set(_sources(one)) <= {"${datasource}", "-- Grafana --"}


def _sources(part: Any) -> list[str]:
    """Every data source that is named."""
    if isinstance(part, list):
        return [each for inside in part for each in _sources(inside)]
    if not isinstance(part, dict):
        return []
    found = [part["datasource"]["uid"]] if "datasource" in part else []
    return found + [each for inside in part.values() for each in _sources(inside)]


def test_ids_and_names_are_there_once() -> None:
    rows = [each for each in dashboard()["panels"] if each["type"] == "row"]
    ids = [each["id"] for each in (*panels(), *rows)]
    assert len(ids) == len(set(ids))
    titles = Counter(each["title"] for each in panels())
    assert not [title for title, count in titles.items() if count > 1]
    for each in panels():
        refs = [target["refId"] for target in each["targets"]]
        assert len(refs) == len(set(refs)) > 0


def test_every_panel_says_what_it_shows() -> None:
    for each in panels():
        assert each["title"]
        assert len(each["description"]) > 20, each["title"]


def test_no_panel_lies_upon_another() -> None:
    shown = dashboard()["panels"]
    folded = [each["panels"] for each in shown if each["type"] == "row" and each["panels"]]
    for group in (shown, *folded):
        for one, other in combinations(group, 2):
            assert not _overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])
        for each in group:
            assert each["gridPos"]["x"] + each["gridPos"]["w"] <= COLUMNS


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "w"), ("y", "h"))
    )


@pytest.mark.parametrize("asked", EVERY, ids=lambda asked: asked.where)
def test_a_query_asks_for_metrics_and_labels_that_there_are(asked: Asked) -> None:
    declared = {each.name: {*each.labels, "job", "instance"} for each in metrics()}
    for name, labels in metrics_in(asked.expr).items():
        if not name.startswith("kraftgate_process_"):  # prometheus_client's own
            assert name in declared
            assert labels <= declared[name]


@pytest.mark.parametrize("asked", EVERY, ids=lambda asked: asked.where)
def test_a_query_is_of_the_cluster_that_is_chosen(asked: Asked) -> None:
    own = (
        "kraftgate_process_",
        "kraftgate_last_look",
        "kraftgate_build_info",
        "kraftgate_notices_",
    )
    for name, labels in metrics_in(asked.expr).items():
        assert "cluster" in labels or name.startswith(own)


@pytest.mark.parametrize("asked", EVERY, ids=lambda asked: asked.where)
def test_without_data_a_query_has_no_result(asked: Asked) -> None:
    """A literal would be shown as a value while Kraftgate is down."""
    assert "vector(0)" not in asked.expr


def test_what_is_most_asked_for_is_shown() -> None:
    """By the metrics that must be on it; which others are left out is a choice."""
    shown = {name for asked in EVERY for name in metrics_in(asked.expr)}
    assert shown >= {
        "kraftgate_phase",
        "kraftgate_checkpoint",
        "kraftgate_replicas",
        "kraftgate_broker_held",
        "kraftgate_broker_fenced",
        "kraftgate_broker_unfenced_early",
        "kraftgate_broker_assigned_replicas_per_second",
        "kraftgate_eta_timestamp_seconds",
        "kraftgate_hazard",
        "kraftgate_source_current",
        "kraftgate_log_dir_online",
        "kraftgate_jmx_zk_write_behind_lag_records",
        "kraftgate_alerts",
        "kraftgate_notices_failed_total",
    }
    assert any("ALERTS{" in asked.expr for asked in EVERY)
