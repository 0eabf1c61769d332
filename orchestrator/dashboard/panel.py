"""What a panel is, in the words of whoever writes one."""

from dataclasses import dataclass
from typing import Final, Literal

from migration.replica_state import ReplicaState

Kind = Literal["stat", "timeseries", "state-timeline", "table"]

GREEN: Final = "green"
YELLOW: Final = "yellow"
ORANGE: Final = "orange"
RED: Final = "red"
BLUE: Final = "blue"
GREY: Final = "text"

STATE_COLORS: Final = {
    ReplicaState.ASSIGNED: GREEN,
    ReplicaState.MIGRATING: YELLOW,
    ReplicaState.UNASSIGNED: ORANGE,
    ReplicaState.OFFLINE: RED,
    ReplicaState.LOST: "dark-red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One PromQL query of a panel.

    Attributes:
        legend: names each series by its labels, `{{label}}`; of a table the column.
        now: asked for the end of the time range alone.
    """

    expr: str
    legend: str
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        explains: what it shows and what to make of it, for whoever never saw it.
        unit: Grafana's name of it.
        width: of 24.
        values: number -> what it says, and its colour.
        steps: (from, colour), the first from None: the lowest.
        lines: whether the steps are drawn across a time series.
        named: of a stat, whether the series' name is shown and not its value.
        stacked: whether its series are added up.
        colors: by the name of a series.
        band: names of the series below and above that are drawn as one area.
        hidden: of a table, the columns that are left out.
        names: of a table, label -> heading.
    """

    title: str
    explains: str
    kind: Kind
    queries: tuple[Query, ...]
    width: int
    height: int = 8
    unit: str = "short"
    decimals: int | None = None
    values: tuple[tuple[int, str, str], ...] = ()
    steps: tuple[tuple[float | None, str], ...] = ((None, GREEN),)
    lines: bool = False
    named: bool = False
    stacked: bool = False
    colors: tuple[tuple[str, str], ...] = ()
    band: tuple[str, str] | None = None
    hidden: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Panels under one heading; `folded`: they show when it is opened."""

    title: str
    panels: tuple[Panel, ...]
    folded: bool = False


def of(name: str, **labels: str) -> str:
    """A metric of the cluster that is chosen: `of("phase", phase="hybrid")`."""
    return _selector(name, {"cluster": ("=", "$cluster")} | _equal(labels))


def of_brokers(name: str, **labels: str) -> str:
    """The same of the brokers that are chosen."""
    chosen = {"cluster": ("=", "$cluster"), "broker": ("=~", "$broker")}
    return _selector(name, chosen | _equal(labels))


def _equal(labels: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Labels by value; of several values `a|b`."""
    return {name: ("=~" if "|" in value else "=", value) for name, value in labels.items()}


def _selector(name: str, labels: dict[str, tuple[str, str]]) -> str:
    inside = ", ".join(f'{label}{how}"{value}"' for label, (how, value) in labels.items())
    return f"kraftgate_{name}{{{inside}}}"
