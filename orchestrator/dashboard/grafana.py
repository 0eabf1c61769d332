"""Panels as Grafana's JSON: dashboard schema 42 (Grafana 12 and 13; older ones read it as well).

Field names and values are those that @grafana/schema 13 publishes.
"""

from string import ascii_uppercase
from typing import Any, Final

from orchestrator.dashboard.panel import Panel, Query, Row

COLUMNS: Final = 24
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_LEGEND: Final = {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True}
_TOOLTIP: Final = {"mode": "multi", "sort": "desc"}

Json = dict[str, Any]


class Layout:
    """Places panels from left to right and line by line, and numbers them."""

    def __init__(self) -> None:
        self._id = 0
        self._x = self._y = self._line = 0

    def number(self) -> int:
        """The next id."""
        self._id += 1
        return self._id

    def place(self, width: int, height: int) -> Json:
        """Where the next panel is."""
        if self._x + width > COLUMNS:
            self.end_line()
        placed = {"h": height, "w": width, "x": self._x, "y": self._y}
        self._x += width
        self._line = max(self._line, height)
        return placed

    def end_line(self) -> None:
        """What comes next begins below."""
        self._x, self._y, self._line = 0, self._y + self._line, 0


def row_json(row: Row, layout: Layout) -> list[Json]:
    """A row and its panels; a folded one holds them."""
    layout.end_line()
    head: Json = {
        "collapsed": row.folded,
        "gridPos": layout.place(COLUMNS, 1),
        "id": layout.number(),
        "panels": [],
        "title": row.title,
        "type": "row",
    }
    inside = [panel_json(each, layout) for each in row.panels]
    if row.folded:
        return [head | {"panels": inside}]
    return [head, *inside]


def panel_json(panel: Panel, layout: Layout) -> Json:
    """One panel."""
    return {
        "datasource": SOURCE,
        "description": panel.explains,
        "fieldConfig": {
            "defaults": _defaults(panel),
            "overrides": list(_overrides(panel)),
        },
        "gridPos": layout.place(panel.width, panel.height),
        "id": layout.number(),
        "options": _options(panel),
        "targets": [
            _target(each, ref, panel)
            for ref, each in zip(ascii_uppercase, panel.queries, strict=False)
        ],
        "title": panel.title,
        "transformations": _transformations(panel),
        "type": panel.kind,
    }


_OPTIONS: Final[dict[str, Json]] = {
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showPercentChange": False,
        "textMode": "auto",
        "wideLayout": True,
    },
    "timeseries": {"legend": _LEGEND, "tooltip": _TOOLTIP},
    "state-timeline": {
        "alignValue": "left",
        "legend": _LEGEND | {"showLegend": False},
        "mergeValues": True,
        "perPage": 20,
        "rowHeight": 0.9,
        "showValue": "auto",
        "tooltip": {"mode": "single", "sort": "none"},
    },
    "table": {"cellHeight": "sm", "frameIndex": 0, "showHeader": True},
}


def _options(panel: Panel) -> Json:
    return _OPTIONS[panel.kind] | ({"textMode": "name"} if panel.named else {})


def _target(query: Query, ref: str, panel: Panel) -> Json:
    return {
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "format": "table" if panel.kind == "table" else "time_series",
        "instant": query.now,
        "legendFormat": query.legend,
        "range": not query.now,
        "refId": ref,
    }


def _defaults(panel: Panel) -> Json:
    shown: Json = {
        "color": {"mode": "palette-classic"},
        "custom": _custom(panel),
        "mappings": [
            {
                "options": {
                    str(value): {"color": color, "index": index, "text": told}
                    for index, (value, told, color) in enumerate(panel.values)
                },
                "type": "value",
            }
        ]
        if panel.values
        else [],
        "thresholds": {
            "mode": "absolute",
            "steps": [{"color": color, "value": start} for start, color in panel.steps],
        },
        "unit": panel.unit,
    }
    if panel.decimals is not None:
        shown["decimals"] = panel.decimals
    if panel.kind != "timeseries":
        shown["color"] = {"mode": "thresholds"}
    if panel.kind == "timeseries":
        shown["min"] = 0
    return shown


def _custom(panel: Panel) -> Json:
    if panel.kind == "timeseries":
        return {
            "drawStyle": "line",
            "fillOpacity": 40 if panel.stacked else 0,
            "lineInterpolation": "stepAfter",
            "lineWidth": 1,
            "showPoints": "auto",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
            "thresholdsStyle": {"mode": "line" if panel.lines else "off"},
        }
    if panel.kind == "state-timeline":
        return {"fillOpacity": 80, "lineWidth": 0}
    return {}


def _overrides(panel: Panel) -> list[Json]:
    found = [
        _override(name, "color", {"fixedColor": color, "mode": "fixed"})
        for name, color in panel.colors
    ]
    if panel.band is not None:
        low, high = panel.band
        found += [
            _override(high, "custom.fillBelowTo", low),
            _override(high, "custom.fillOpacity", 20),
        ]
    return found


def _override(name: str, setting: str, value: object) -> Json:
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": setting, "value": value}],
    }


def _transformations(panel: Panel) -> list[Json]:
    """Of a table: all queries side by side, with readable headings."""
    if panel.kind != "table":
        return []
    many = len(panel.queries) > 1
    names = dict(panel.names)
    if many:
        values = {
            f"Value #{ref}": each.legend
            for ref, each in zip(ascii_uppercase, panel.queries, strict=False)
        }
        names |= {column: told for column, told in values.items() if column not in panel.hidden}
    return [
        *([{"id": "merge", "options": {}}] if many else []),
        {
            "id": "organize",
            "options": {
                "excludeByName": dict.fromkeys(panel.hidden, True),
                "indexByName": {},
                "renameByName": names,
            },
        },
    ]
