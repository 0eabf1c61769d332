"""The alert rules, and promtool's tests of them, as they are written."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support.prometheus import promtool

RUNBOOKS: Final = Path(__file__).parents[3] / "runbooks"
RULES: Final = RUNBOOKS / "prometheus" / "kraftgate.rules.yaml"
TESTS: Final = tuple(sorted((RUNBOOKS / "prometheus" / "tests").glob("*.test.yaml")))


@dataclass(frozen=True)
class Alert:
    """One alerting rule."""

    name: str
    expr: str
    severity: str
    annotations: Mapping[str, str]


def rules() -> list[dict[str, Any]]:
    content = yaml.safe_load(RULES.read_text("utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def alerts() -> tuple[Alert, ...]:
    return tuple(
        Alert(rule["alert"], rule["expr"], rule["labels"]["severity"], rule["annotations"])
        for rule in rules()
        if "alert" in rule
    )


def expected(fires: bool) -> Iterator[tuple[str, str]]:
    """The alerts, with their severity where they fire, that promtool's tests expect so."""
    for content in _contents():
        for test in content["tests"]:
            for each in test.get("alert_rule_test", ()):
                if not each["exp_alerts"] and not fires:
                    yield each["alertname"], ""
                for one in each["exp_alerts"] if fires else ():
                    yield each["alertname"], one["exp_labels"]["severity"]


@cache
def _contents() -> list[dict[str, Any]]:
    """The files of promtool's tests."""
    return [yaml.safe_load(file.read_text("utf-8")) for file in TESTS]


def run_against(text: str, name: str, folder: Path) -> tuple[int, str]:
    """Run the one of promtool's tests with this name against these rules instead."""
    ((content, test),) = (
        (each, test) for each in _contents() for test in each["tests"] if test["name"] == name
    )
    (folder / "tests").mkdir()
    (folder / RULES.name).write_text(text, "utf-8")
    copy = folder / "tests" / "one.test.yaml"
    copy.write_text(yaml.safe_dump({**content, "tests": [test]}), "utf-8")
    return promtool("test", "rules", copy)


def metrics_in(expr: str) -> dict[str, set[str]]:
    """The metrics that an expression names, with the labels that it selects them by."""
    found: dict[str, set[str]] = {}
    for name, selector in re.findall(r"(kraftgate_\w+)(?:\{([^}]*)\})?", expr):
        found.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
    return found
