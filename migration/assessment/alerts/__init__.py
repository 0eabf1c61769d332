"""Alerts: the conditions that need an operator. Pure.

`alerts(facts)` returns those whose condition holds now; `advance` determines which of them are
pending, active or resolved. `status`, the console, the notifications and the gauge that the
Prometheus rules read all use these. A new alert is a `Rule` in one of these modules, a Prometheus
rule and a page.
"""

from migration.assessment.alerts.alert import Alert, AlertFacts, Rule
from migration.assessment.alerts.lifecycle import NO_ALERTS, AlertState, AlertStates, advance
from migration.assessment.alerts.rules import RULES, alerts

__all__ = [
    "NO_ALERTS",
    "RULES",
    "Alert",
    "AlertFacts",
    "AlertState",
    "AlertStates",
    "Rule",
    "advance",
    "alerts",
]
