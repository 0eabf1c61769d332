"""The file against the schema that Grafana publishes."""

from typing import Any, Final

import pytest
from jsonschema import Draft7Validator

from tests.orchestrator.views.metrics.dashboard.queries import dashboard, panels
from tests.orchestrator.views.metrics.dashboard.schema import schemas

PROMETHEUS_OWN: Final = {"target", "tagKeys", "textFormat", "titleFormat", "useValueForTime"}
"""What an annotation has of its data source, which the schema does not know: these are read by
`PrometheusAnnotationSupport` of the npm package @grafana/prometheus."""


def wrong(schema: str, value: object) -> list[str]:
    found = Draft7Validator(schemas()[schema]).iter_errors(value)
    return [f"{each.json_path}: {each.message}" for each in found]


def test_the_dashboard_is_by_the_schema() -> None:
    one = dashboard()
    for each in one["annotations"]["list"]:
        for key in PROMETHEUS_OWN:
            each.pop(key, None)
    assert not wrong("dashboard", one)
    assert one["schemaVersion"] == 42  # defaultDashboard in the same package


@pytest.mark.parametrize("panel", tuple(panels()), ids=lambda panel: panel["title"])
def test_a_panel_has_the_options_of_its_kind(panel: dict[str, Any]) -> None:
    kind = panel["type"]
    assert not wrong(f"{kind} options", panel["options"])
    custom = panel["fieldConfig"]["defaults"]["custom"]
    # Of a table's fields Grafana publishes what it has filled in, not what a file must name.
    if f"{kind} custom" in schemas() and kind != "table":
        assert not wrong(f"{kind} custom", custom)
    else:
        assert custom == {}


def test_the_schema_would_notice() -> None:
    one = dashboard() | {"panles": []}
    one["panels"][0]["gridPos"]["h"] = "4"
    assert len(wrong("dashboard", one)) > 2
