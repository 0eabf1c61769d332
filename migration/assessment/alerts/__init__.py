"""Alerts: the conditions that need an operator. Pure.

`alerts(scene)` gives those whose condition holds now, `advance` which of them are pending, active
or resolved. `status`, the console, the notifications and the gauge that the Prometheus rules read
all use these. A new alert is a `Rule` in one of these modules, a Prometheus rule and a page.
"""

from migration.assessment.alerts.alert import Alert, Rule, Severity
from migration.assessment.alerts.lifecycle import NOTHING_STANDS, Standing, Standings, advance
from migration.assessment.alerts.rules import RULES, alerts
from migration.assessment.alerts.scene import Scene, WalkSeen

__all__ = [
    "NOTHING_STANDS",
    "RULES",
    "Alert",
    "Rule",
    "Scene",
    "Severity",
    "Standing",
    "Standings",
    "WalkSeen",
    "advance",
    "alerts",
]
