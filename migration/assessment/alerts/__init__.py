"""Alerts: what needs a person, and since when it is so for long enough. All pure.

The one place that says so: `status`, the metrics and what Kraftgate sends itself read it here. The
rules for Prometheus (`runbooks/prometheus/kraftgate.rules.yaml`) say the same by the metrics, group
by group; `tests/alerts/test_the_same_as_the_rules.py` drives both through the same hours.
"""

from migration.assessment.alerts.alert import Alert, Found, Rule, Severity
from migration.assessment.alerts.all import RULES
from migration.assessment.alerts.lifecycle import NOTHING_STANDS, Standing, Standings, advance
from migration.assessment.alerts.scene import Scene, WalkSeen

__all__ = [
    "NOTHING_STANDS",
    "RULES",
    "Alert",
    "Found",
    "Rule",
    "Scene",
    "Severity",
    "Standing",
    "Standings",
    "WalkSeen",
    "advance",
]
