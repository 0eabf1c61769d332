"""Figures with their spread and bounds, as a table and as JSON."""

import json
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil

RUNS: Final = 5
_PACKAGES: Final = ("kafka-python", "kio", "msgpack", "pyarrow", "pyspark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured quantity with one value per run.

    Attributes:
        part: the benchmark's letter.
        compared_with: the other side's runs; `figure` is then the ratio of the medians.
        bound: the limit of `figure`; None: shown only.
        at_least: whether `bound` is a minimum instead of a maximum.
        worst: `figure` is the highest run instead of the median.
        series: figures with the same one are drawn together, over `at`.
    """

    part: str
    name: str
    unit: str
    runs: Sequence[float]
    compared_with: Sequence[float] = ()
    bound: float | None = None
    at_least: bool = False
    worst: bool = False
    series: str | None = None
    at: float | None = None
    at_unit: str = ""

    @property
    def figure(self) -> float:
        """Return the value that `bound` limits: median, ratio of the medians, or highest run."""
        middle = max(self.runs) if self.worst else statistics.median(self.runs)
        return middle / statistics.median(self.compared_with) if self.compared_with else middle

    @property
    def within(self) -> bool | None:
        """Whether the bound holds; None without one."""
        if self.bound is None:
            return None
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def row(self) -> tuple[str, ...]:
        """As the table shows it."""
        middle = statistics.median(self.runs)
        bound = ""
        if self.bound is not None:
            bound = f"{'>=' if self.at_least else '<='} {self.bound:g}"
        return (
            self.part,
            self.name,
            self.unit,
            *[_short(each) for each in (min(self.runs), middle, max(self.runs))],
            f"{self.figure:.2f}" if self.compared_with else "",
            bound,
            {None: "", True: "within", False: "OVER"}[self.within],
        )


_HEADINGS: Final = ("", "measured", "unit", "min", "median", "max", "ratio", "bound", "")


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out in columns."""
    rows = [_HEADINGS, *[each.row() for each in figures]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column in (0, 1, 2, 8) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def save(figures: Sequence[Figure], folder: Path, given: dict[str, Any]) -> Path:
    """Write the results with what the machine is; the file's name is the time, UTC."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    content = {
        "at": now.isoformat(timespec="seconds"),
        "given": given,
        "machine": machine(),
        "figures": [
            asdict(each) | {"figure": each.figure, "within": each.within} for each in figures
        ],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def machine() -> dict[str, Any]:
    """Return what the figures depend on, without names of hosts or users."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "load_before": [round(each, 2) for each in psutil.getloadavg()],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def say(line: str) -> None:
    """Print progress to stderr; stdout is for the table."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")
    sys.stderr.flush()


def _short(number: float) -> str:
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.2f}" if abs(number) >= 1 else f"{number:.3f}"
