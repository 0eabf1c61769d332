"""The whole dashboard: variables, annotations, panels."""

import json
from typing import Any, Final

from orchestrator.dashboard.brokers import BROKERS
from orchestrator.dashboard.grafana import SOURCE, Json, Layout, panel_json, row_json
from orchestrator.dashboard.jmx import JMX
from orchestrator.dashboard.judged import HAZARDS
from orchestrator.dashboard.log_dirs import LOG_DIRS
from orchestrator.dashboard.migration import HEAD, PROGRESS
from orchestrator.dashboard.panel import Panel, Row, of, of_brokers
from orchestrator.dashboard.process import PROCESS
from orchestrator.dashboard.sources import SOURCES

UID: Final = "kraftgate-migration"
"""It stays: links to it, and an import over the one that is there, go by it."""
SCHEMA: Final = 42
ROWS: Final[tuple[Row, ...]] = (PROGRESS, BROKERS, HAZARDS, LOG_DIRS, SOURCES, JMX, PROCESS)
_PHASE_BEGAN: Final = (
    f"1000 * ({of('phase')} == 1)"
    f" * on (job, instance, cluster) group_left () {of('phase_changed_timestamp_seconds')}"
)
ANNOTATIONS: Final = {
    "Phases": (
        _PHASE_BEGAN,
        "{{phase}}",
        "blue",
        True,
    ),
    "Checkpoints": (
        f"1000 * {of('checkpoint_entered_timestamp_seconds')}",
        "{{checkpoint}}",
        "light-blue",
        False,
    ),
    "Registrations": (
        f"1000 * {of_brokers('broker_registered_timestamp_seconds')}",
        "broker {{broker}} registered",
        "green",
        False,
    ),
}
"""Name -> a query whose values are moments (ms), what is told, colour, whether it is on."""
_ALERTS: Final = 'ALERTS{alertname=~"Kraftgate.+", cluster="$cluster", alertstate="firing"}'


def panels() -> tuple[Panel, ...]:
    """All panels, in their order."""
    return (*HEAD, *(panel for row in ROWS for panel in row.panels))


def dashboard() -> Json:
    """Give it as Grafana's JSON."""
    layout = Layout()
    placed = [panel_json(each, layout) for each in HEAD]
    for row in ROWS:
        placed += row_json(row, layout)
    return {
        "annotations": {"list": list(_annotations())},
        "description": "A Kafka cluster on its way from ZooKeeper to KRaft, as Kraftgate sees it.",
        "editable": True,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 1,
        "id": None,
        "links": [],
        "panels": placed,
        "preload": False,
        "refresh": "10s",
        "schemaVersion": SCHEMA,
        "tags": ["kafka", "kraftgate"],
        "templating": {"list": _variables()},
        "time": {"from": "now-3h", "to": "now"},
        "timepicker": {},
        "timezone": "browser",
        "title": "Kraftgate: ZooKeeper to KRaft",
        "uid": UID,
        "version": 1,
    }


def text() -> str:
    """The file that is imported."""
    return json.dumps(dashboard(), indent=2, sort_keys=True) + "\n"


def _variables() -> list[Json]:
    return [
        {
            "includeAll": False,
            "label": "Data source",
            "multi": False,
            "name": "datasource",
            "options": [],
            "query": "prometheus",
            "refresh": 1,
            "regex": "",
            "type": "datasource",
        },
        _query("cluster", "Cluster", "label_values(kraftgate_source_current, cluster)"),
        _query("broker", "Broker", f"label_values({of('broker_mode')}, broker)")
        | {
            "allValue": ".*",
            "current": {"text": ["All"], "value": ["$__all"]},
            "includeAll": True,
            "multi": True,
            "sort": 3,
        },
    ]


def _query(name: str, label: str, asked: str) -> Json:
    return {
        "datasource": SOURCE,
        "includeAll": False,
        "label": label,
        "multi": False,
        "name": name,
        "options": [],
        "query": {"qryType": 1, "query": asked, "refId": f"Variable-{name}"},
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "type": "query",
    }


def _annotations() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "builtIn": 1,
            "datasource": {"type": "grafana", "uid": "-- Grafana --"},
            "enable": True,
            "hide": True,
            "iconColor": "rgba(0, 211, 255, 1)",
            "name": "Annotations & Alerts",
            "type": "dashboard",
        }
    ]
    found += [
        _annotation(name, expr, told, color, shown=shown) | {"useValueForTime": True}
        for name, (expr, told, color, shown) in ANNOTATIONS.items()
    ]
    alert = "{{alertname}} {{severity}} {{broker}}"
    found.append(_annotation("Alerts", _ALERTS, alert, "red", shown=False))
    return found


def _annotation(name: str, expr: str, told: str, color: str, *, shown: bool) -> dict[str, Any]:
    return {
        "datasource": SOURCE,
        "enable": shown,
        "iconColor": color,
        "name": name,
        "tagKeys": "cluster",
        "target": {"expr": expr, "interval": "10s", "refId": "Anno"},
        "textFormat": "",
        "titleFormat": told,
    }
