"""Alerts: the conditions that need an operator. Pure.

`alerts(view)` returns those whose condition holds now; `advance` determines which of them are
pending, active or resolved. `status`, the console, the notifications and the gauge that the
Prometheus rules read all use these. A new alert is a `Rule` in one of these modules, a Prometheus
rule and a page.
"""

from migration.assessment.alerts.alert import Alert, Rule
from migration.assessment.alerts.lifecycle import (
    NO_ALERTS,
    RULES,
    AlertState,
    AlertStates,
    advance,
    alerts,
)

__all__ = [
    "NO_ALERTS",
    "RULES",
    "Alert",
    "AlertState",
    "AlertStates",
    "Rule",
    "advance",
    "alerts",
]
