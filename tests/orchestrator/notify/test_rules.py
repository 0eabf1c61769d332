"""The alert rules: by the mixins' conventions, on metrics that exist, tested by promtool.

What each alert fires on is in `runbooks/prometheus/tests/`, in promtool's own form, so that
an operator who changes a threshold runs them without Kraftgate's tests.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Metric, ProcessCollector

from orchestrator.views.metrics.collector import metrics
from tests.orchestrator.notify.rules import (
    RULES,
    TESTS,
    Alert,
    alerts,
    expected,
    metrics_in,
    rules,
    run_against,
)
from tests.support.prometheus import promtool

ALERTS = alerts()
NAMES = sorted({each.name for each in ALERTS})


@pytest.mark.prometheus
def test_promtool_finds_nothing_to_mend() -> None:
    code, said = promtool("check", "rules", "--lint-fatal", RULES)
    assert code == 0, said


@pytest.mark.prometheus
def test_every_expectation_of_the_unit_tests_holds() -> None:
    assert len(TESTS) == 3
    code, said = promtool("test", "rules", *TESTS)
    assert code == 0, said


def of_the_process() -> Iterable[Metric]:
    return ProcessCollector(namespace="kraftgate", registry=CollectorRegistry()).collect()


FIRES = "an alert fires when its condition has held for the time of its rule, and resolves"
TOO_SHORT = "a condition that holds for a shorter time than its rule asks fires nothing"
OLD_VALUES = "an exporter that serves old values does not poll either"
CLOCK = "the clock of Kraftgate's host does not count"
RESTARTS = "a Kraftgate that restarts again and again does not follow the migration"
FROZEN = "a frozen exporter is reported in every phase, whatever it last exported"
RESTART = "a restart of kraftgate run resolves nothing, and lets nothing fire"
CHANGES = [
    (TOO_SHORT, "for: 2m", "for: 105s"),
    (FIRES, "for: 5m", "for: 6m"),
    (FIRES, 'StreamStale", severity="critical"} == 1', 'StreamStale", severity="warning"} == 1'),
    (FIRES, "time() - kraftgate:alert_since", "kraftgate:alert_since"),
    (OLD_VALUES, "last_look_timestamp_seconds[2m]", "last_look_timestamp_seconds[10m]"),
    (OLD_VALUES, "last_look_timestamp_seconds[2m]", "last_look_timestamp_seconds[1m]"),
    (CLOCK, "and on (job, instance) kraftgate:ticks == 0", ""),
    (
        "after the end it may stop",
        "and on (job, instance) kraftgate:ticks == 1\n          )\n          or",
        ") or",
    ),
    (OLD_VALUES, "and on (job, instance) kraftgate:ticks == 1\n            unless", "unless"),
    (
        "a migration that nothing polls is reported until something does",
        "or last_over_time(kraftgate:migration_under_way[1d])",
        "",
    ),
    (
        "the last scrape counts although it is stale at the next evaluation",
        'dual-write"}[2m]',
        'dual-write"}[20s]',
    ),
    (RESTARTS, "_process_start_time_seconds[15m]) >= 3", "_process_start_time_seconds[15m]) >= 2"),
    (RESTARTS, "_process_start_time_seconds[15m]) >= 3", "_process_start_time_seconds[15m]) >= 30"),
    (FROZEN, "or on (job, instance, cluster, source) (", "and on (job, instance) ("),
    (RESTART, "unless on (cluster) kraftgate_alerts", ""),
    (RESTART, 'alertstate="firing"', 'alertstate!=""'),
    (
        "an hour after the end of kraftgate run its alerts end",
        "kraftgate_alert[1h]",
        "kraftgate_alert[2h]",
    ),
]


@pytest.mark.prometheus
@pytest.mark.parametrize(("test", "was", "made"), CHANGES)
def test_a_change_of_a_rule_fails_a_unit_test(
    test: str, was: str, made: str, tmp_path: Path
) -> None:
    """Only that test runs; all of them would take three times as long."""
    text = RULES.read_text("utf-8")
    assert was in text
    code, said = run_against(text.replace(was, made), test, tmp_path)
    assert code == 1
    assert "exp:" in said, "it must fail for what fires, not for how it is written"


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: f"{each.name}-{each.severity}")
def test_each_rule_reads_its_own_alert_from_the_gauge(alert: Alert) -> None:
    """So no condition has a second implementation in PromQL."""
    own = f'{{alertname="{alert.name}", severity="{alert.severity}"}}'
    expr = re.sub(r"\s+", " ", alert.expr).replace("{ ", "{").replace(" }", "}").strip()
    active, age = f"kraftgate:alert{own} == 1", f"kraftgate:alert_since_timestamp_seconds{own}"
    if alert.name == "KraftgateStreamStale":
        assert expr.startswith(f"{active} or ")
    elif alert.name != "KraftgateOrchestratorDown":
        assert expr in (active, f"time() - {age}")


def test_what_fires_is_kept_by_all_labels_of_an_alert() -> None:
    (record,) = (rule for rule in rules() if rule.get("record") == "kraftgate:alert")
    (exported,) = (each for each in metrics() if each.name == "kraftgate_alert")
    by = re.search(r"and on \(([^)]*)\)", record["expr"])
    assert by is not None
    assert set(re.findall(r"\w+", by[1])) == {*exported.labels, "job", "instance"}


def test_each_alert_is_shown_to_fire_and_not_to_fire() -> None:
    fire, quiet = set(expected(fires=True)), {name for name, _ in expected(fires=False)}
    assert fire == {(each.name, each.severity) for each in ALERTS}
    assert quiet == set(NAMES)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: f"{each.name}-{each.severity}")
def test_each_alert_says_what_a_person_needs(alert: Alert) -> None:
    assert re.fullmatch(r"Kraftgate[A-Z][A-Za-z]+", alert.name)
    assert alert.severity in {"critical", "warning", "info"}
    assert alert.annotations.keys() == {"summary", "description", "runbook_url"}
    assert "{{" not in alert.annotations["summary"]
    assert "{{ $labels.cluster }}" in alert.annotations["description"]
    assert alert.annotations["runbook_url"] == (
        f"https://kraftgate.example/runbooks/alerts/{alert.name}.md"
    )


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert", rule.get("record")))
def test_each_rule_is_on_metrics_and_labels_that_exist(rule: dict[str, str]) -> None:
    declared = {each.name: {*each.labels, "job", "instance"} for each in metrics()}
    declared |= {each.name: {"job", "instance"} for each in of_the_process()}
    named = metrics_in(rule["expr"])
    assert named.keys() <= declared.keys()
    for name, labels in named.items():
        assert labels <= declared[name], name
    known = {label for labels in declared.values() for label in labels}
    templates = set(re.findall(r"\$labels\.(\w+)", str(rule.get("annotations", ""))))
    assert templates <= known
