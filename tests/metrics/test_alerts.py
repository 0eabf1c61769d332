"""The alerts that stand, as they are scraped."""

from migration.assessment.alerts import NOTHING_STANDS, RULES, Alert, Standing, Standings
from orchestrator.metrics.alerts import tell_alerts
from orchestrator.metrics.exposition import Exposition

NAME = "KraftgateAssignmentStalled"


def standing(broker: str, *, stands: bool, is_known: bool = True) -> Standing:
    labels = {"severity": "warning", "cluster": "prod", "broker": broker}
    alert = Alert(name=NAME, labels=labels, summary="s", description="d")
    return Standing(
        alert=alert, found_ms=1000, stands_ms=2000 if stands else None, is_known=is_known
    )


def told(now: Standings) -> dict[tuple[str, ...], float]:
    into = Exposition()
    tell_alerts(into, "prod", now)
    return {
        tuple(sample.labels[label] for label in ("alertname", "severity", "state")): sample.value
        for family in into.families()
        for sample in family.samples
    }


def test_every_alert_is_counted_also_where_there_is_none() -> None:
    found = told(
        Standings(
            at_ms=1,
            all={
                "a": standing("1", stands=True),
                "b": standing("2", stands=True, is_known=False),
                "c": standing("3", stands=False),
            },
        )
    )
    assert found.pop((NAME, "warning", "firing")) == 2
    assert found.pop((NAME, "warning", "pending")) == 1
    assert set(found.values()) == {0}
    assert len(found) == 2 * len(RULES) - 2


def test_before_the_first_look_nothing_is_told() -> None:
    assert told(NOTHING_STANDS) == {}
