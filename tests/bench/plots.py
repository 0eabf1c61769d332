"""One plot for each figure, and one for each series of figures; SVG."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from tests.bench.result import Figure

_INCHES: Final = (6.4, 2.4)
_SERIES_INCHES: Final = (6.4, 4.0)


def draw(figures: Sequence[Figure], folder: Path) -> None:
    """Write `PART-NAME.svg` for each figure, and for the figures of a series together."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams["svg.hashsalt"] = "kraftgate"
    for name, group in groupby(figures, lambda each: (each.part, each.series or each.name)):
        some = list(group)
        canvas = _series(some) if some[0].series else _runs(some[0])
        part, title = name
        canvas.suptitle(title, fontsize="medium")
        canvas.savefig(folder / f"{part}-{_file_name(title)}.svg", metadata={"Date": None})


def _runs(figure: Figure) -> Canvas:
    canvas = Canvas(figsize=_INCHES, layout="constrained")
    axes = canvas.add_subplot()
    rows = [("measured", figure.runs), ("other side", figure.compared_with)]
    rows = rows if figure.compared_with else rows[:1]
    for row, (_, runs) in enumerate(rows):
        axes.plot(runs, [row] * len(runs), "o", alpha=0.6)
    if figure.bound is not None and not figure.compared_with:
        axes.axvline(figure.bound, linestyle="--", color="grey")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel(figure.unit)
    return canvas


def _series(figures: Sequence[Figure]) -> Canvas:
    canvas = Canvas(figsize=_SERIES_INCHES, layout="constrained")
    axes = canvas.add_subplot()
    for each in figures:
        axes.plot([each.at or 0] * len(each.runs), each.runs, "o", color="C0", alpha=0.6)
    axes.plot([each.at or 0 for each in figures], [each.figure for each in figures], color="C0")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(figures[0].at_unit)
    axes.set_ylabel(figures[0].unit)
    return canvas


def _file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
