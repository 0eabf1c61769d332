"""The alert rules: by the mixins' conventions, on metrics that exist, tested by promtool.

What each alert fires on is in `runbooks/prometheus/tests/`, in promtool's own form, so that
whoever changes a threshold runs them without Kraftgate's tests.
"""

import re
from pathlib import Path

import pytest

from orchestrator.metrics.collector import metrics
from tests.alerts.rules import RULES, TESTS, Alert, alerts, expected, metrics_in, rules, run_against
from tests.support.prometheus import promtool

ALERTS = alerts()
NAMES = sorted({each.name for each in ALERTS})


@pytest.mark.prometheus
def test_promtool_finds_nothing_to_mend() -> None:
    code, said = promtool("check", "rules", "--lint-fatal", RULES)
    assert code == 0, said


@pytest.mark.prometheus
def test_every_expectation_of_the_unit_tests_holds() -> None:
    assert len(TESTS) == 6
    code, said = promtool("test", "rules", *TESTS)
    assert code == 0, said


CHANGES = [
    ("assignments", "without_progress:seconds > 300", "without_progress:seconds > 330"),
    ("assignments", "without_progress:seconds > 900", "without_progress:seconds > 930"),
    ("assignments", "held_since_timestamp_seconds > 1800", "held_since_timestamp_seconds > 1860"),
    ("assignments", "[20m:1m]) - 1", "[20m:1m])"),
    ("assignments", "and on (job, instance, cluster, broker) kraftgate_broker_held == 1", ""),
    ("hybrid", "> 86400", "> 80000"),
    ("phases", ") > 3600", ") > 3500"),
    ("directories", 'hazard!="unfenced_early"', 'hazard!="none"'),
    ("directories", "for: 5m", "for: 30s"),
    ("clean", "for: 5m", "for: 30s"),
    ("clean", "for: 1m", "for: 0s"),
    ("clean", "for: 2m", "for: 0s"),
    ("itself", "seconds < 60", "seconds < 6000"),
    ("itself", 'unless on (job, instance, cluster) kraftgate_phase{phase="rolled-back"} == 1', ""),
]


@pytest.mark.prometheus
@pytest.mark.parametrize(("file", "was", "made"), CHANGES)
def test_a_change_of_a_rule_fails_a_unit_test(
    file: str, was: str, made: str, tmp_path: Path
) -> None:
    text = RULES.read_text("utf-8")
    assert was in text
    code, said = run_against(text.replace(was, made), file, tmp_path)
    assert code == 1
    assert "exp:" in said, "it must fail for what fires, not for how it is written"


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
    named = metrics_in(rule["expr"])
    assert named.keys() <= declared.keys()
    for name, labels in named.items():
        assert labels <= declared[name], name
    known = {label for labels in declared.values() for label in labels}
    templates = set(re.findall(r"\$labels\.(\w+)", str(rule.get("annotations", ""))))
    assert templates <= known


def test_a_stall_is_told_after_kafka_has_given_up_its_own_retries() -> None:
    kafka_retries_s = 120
    stalls = [each.expr for each in ALERTS if each.name == "KraftgateAssignmentStalled"]
    thresholds = [int(each.split(":seconds > ")[1].split()[0]) for each in stalls]
    assert len(thresholds) == 2
    assert min(thresholds) > kafka_retries_s
