"""The alerts that stand, as they are scraped."""

from dataclasses import replace

from migration.assessment.alerts import NO_ALERTS, RULES, Alert, AlertState, AlertStates
from orchestrator.views.metrics.cluster import add_alerts
from orchestrator.views.metrics.exposition import Exposition

NAME = "KraftgateAssignmentStalled"


def standing(broker: str, *, is_active: bool, is_known: bool = True) -> AlertState:
    labels = {"severity": "warning", "cluster": "prod", "broker": broker}
    alert = Alert(name=NAME, labels=labels, summary="s", description="d")
    return AlertState(
        alert=alert, found_ms=1000, active_since_ms=2000 if is_active else None, is_known=is_known
    )


def told(now: AlertStates) -> dict[tuple[str, ...], float]:
    into = Exposition()
    add_alerts(into, "prod", now)
    return {
        tuple(sample.labels[label] for label in ("alertname", "severity", "state")): sample.value
        for family in into.families()
        for sample in family.samples
        if family.name == "kraftgate_alerts"
    }


def test_every_alert_is_counted_also_where_there_is_none() -> None:
    found = told(
        AlertStates(
            at_ms=1,
            all={
                "a": standing("1", is_active=True),
                "b": standing("2", is_active=True, is_known=False),
                "c": standing("3", is_active=False),
            },
        )
    )
    assert found.pop((NAME, "warning", "firing")) == 2
    assert found.pop((NAME, "warning", "pending")) == 1
    assert set(found.values()) == {0}
    assert len(found) == 2 * len(RULES) - 2


def exported(now: AlertStates) -> dict[str, dict[tuple[str, str], float]]:
    """By metric: value by the alert's broker and severity."""
    into = Exposition()
    add_alerts(into, "prod", now)
    return {
        family.name: {
            (sample.labels["broker"], sample.labels["severity"]): sample.value
            for sample in family.samples
        }
        for family in into.families()
        if family.name != "kraftgate_alerts"
    }


def test_its_time_is_a_snapshots_if_only_that_shows_its_condition() -> None:
    """Without a time before `found_ms` the rules of Prometheus would print an age of 0 s."""
    for since_ms, bound_ms, expected in ((None, None, 1.0), (None, 300, 0.3), (200, 300, 0.2)):
        one = standing("1", is_active=True)
        one = replace(one, alert=replace(one.alert, since_ms=since_ms, bound_ms=bound_ms))
        found = exported(AlertStates(at_ms=1, all={"a": one}))
        assert found["kraftgate_alert_since_timestamp_seconds"] == {("1", "warning"): expected}


def test_the_gauge_has_an_alert_with_its_labels_and_its_time() -> None:
    into = Exposition()
    add_alerts(into, "prod", AlertStates(at_ms=1, all={"a": standing("1", is_active=True)}))
    (family,) = (each for each in into.families() if each.name == "kraftgate_alert")
    (sample,) = family.samples
    assert {name: value for name, value in sample.labels.items() if value} == {
        "cluster": "prod",
        "alertname": NAME,
        "severity": "warning",
        "broker": "1",
    }
    now = AlertStates(at_ms=1, all={"a": replace(standing("1", is_active=True), found_ms=7000)})
    assert exported(now)["kraftgate_alert_since_timestamp_seconds"] == {("1", "warning"): 7}


def test_prometheus_waits_for_what_is_pending_unless_its_rule_cannot() -> None:
    """The rule of a stall has no `for`; Kraftgate waits when the broker has no timestamps."""
    stalled = standing("1", is_active=False)
    early = replace(
        stalled, alert=replace(stalled.alert, name="KraftgateBrokerUnfencedEarly", since_ms=3000)
    )
    unknown = standing("2", is_active=True, is_known=False)
    now = AlertStates(at_ms=1, all={"a": stalled, "b": early, "c": unknown})
    found = exported(now)
    assert found["kraftgate_alert"] == {("1", "warning"): 1, ("2", "warning"): 1}
    assert found["kraftgate_alert_since_timestamp_seconds"] == {
        ("1", "warning"): 3,
        ("2", "warning"): 1,
    }


def test_before_the_first_look_nothing_is_told() -> None:
    assert told(NO_ALERTS) == {}
