"""The dashboard's queries as Grafana sends them, and what of them a legend or a column needs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.orchestrator.notify.rules import RUNBOOKS

FILE: Final = RUNBOOKS / "grafana" / "kraftgate.json"
RATE_INTERVAL_S: Final = 15


@dataclass(frozen=True)
class Asked:
    """One query.

    Attributes:
        where: the panel's title, or the annotation's name, and which of its queries.
        expr: with its variables filled in: one cluster, all brokers.
        shows: the labels that its legend, its title or its columns show.
        now: it is asked for one moment.
    """

    where: str
    expr: str
    shows: frozenset[str]
    now: bool


def dashboard() -> dict[str, Any]:
    """The file that is imported."""
    read: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return read


def panels() -> Iterator[dict[str, Any]]:
    """All panels of the JSON, rows left out, those of folded rows too."""
    for each in dashboard()["panels"]:
        if each["type"] == "row":
            yield from each["panels"]
        else:
            yield each


def queries(cluster: str) -> Iterator[Asked]:
    """Every panel's and every annotation's."""
    for panel in panels():
        for target in panel["targets"]:
            shows = _labels(target["legendFormat"])
            if panel["type"] == "table":
                shows = frozenset(_columns(panel) if target["refId"] == "A" else ())
            yield Asked(
                where=f"{panel['title']}, {target['refId']}",
                expr=filled_in(target["expr"], cluster),
                shows=shows,
                now=target["instant"],
            )
    for each in dashboard()["annotations"]["list"]:
        if "target" in each:
            yield Asked(
                where=f"annotation {each['name']}",
                expr=filled_in(each["target"]["expr"], cluster),
                shows=_labels(each["titleFormat"]),
                now=False,
            )


def filled_in(expr: str, cluster: str) -> str:
    """As Grafana would, with one cluster chosen and all brokers; `$1` is label_replace's."""
    values = {"cluster": cluster, "broker": ".*", "__rate_interval": f"{RATE_INTERVAL_S}s"}
    return re.sub(r"\$([a-z_]\w*)", lambda found: values[found[1]], expr)


def _labels(legend: str) -> frozenset[str]:
    return frozenset(re.findall(r"{{(\w+)}}", legend))


def _columns(panel: dict[str, Any]) -> Iterator[str]:
    """The labels that a table has headings for."""
    (organize,) = (each for each in panel["transformations"] if each["id"] == "organize")
    for column in organize["options"]["renameByName"]:
        if not column.startswith("Value"):
            yield column
