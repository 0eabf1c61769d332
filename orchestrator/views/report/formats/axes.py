"""The common parts of the report's plots: rows of bars over time, and the time axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from migration.values.timestamps import nearest_datetime
from orchestrator.api.report.shape import Span
from orchestrator.output.visible import visible
from orchestrator.views.report.formats.svg import EXPOSED, INK, LINE, QUIET

WIDTH_IN: Final = 10.0
_ROWS_LOW: Final = 40
"""With more rows than this, the rows are smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The time range of a cluster's plots."""

    began_ms: int
    ended_ms: int

    def clip(self, each: Span) -> tuple[int, int] | None:
        """Return the part of a span that is in the range; None: there is none."""
        began_ms = self.began_ms if each.began_at is None else max(each.began_at, self.began_ms)
        ended_ms = self.ended_ms if each.ended_at is None else min(each.ended_at, self.ended_ms)
        return (began_ms, ended_ms) if ended_ms >= began_ms else None


class Rows:
    """A figure with a row for each label, the first at the top."""

    def __init__(self, axis: Axis, labels: Sequence[str]) -> None:
        height = 0.26 if len(labels) <= _ROWS_LOW else 0.14
        size = (WIDTH_IN, 0.9 + height * max(2, len(labels)))
        self.figure = Figure(figsize=size, layout="constrained")
        self._axis = axis
        self._axes = axes = self.figure.subplots()
        axes.set_yticks(
            range(len(labels)),
            [visible(each) for each in labels],
            fontsize=8 if len(labels) <= _ROWS_LOW else 5,
            color=INK,
        )
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlim(date(axis.began_ms), date(axis.ended_ms))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", linewidth=0.5)
        axes.set_axisbelow(True)
        time_below(axes)

    def bar(self, row: int, each: Span, colour: str, height: float = 0.7) -> None:
        """Draw a span, clipped to the axis."""
        clipped = self._axis.clip(each)
        if clipped is not None:
            began, ended = date(clipped[0]), date(clipped[1])
            self._axes.broken_barh(
                [(began, ended - began)],
                (row - height / 2, height),
                facecolors=colour,
                edgecolors=colour,
                linewidth=0.8,  # so that a span of milliseconds is visible
            )

    def mark(self, row: int, each: Span) -> None:
        """Mark the beginning of a span, which may be too short to be visible."""
        clipped = self._axis.clip(each)
        if clipped is not None:
            self._axes.plot([date(clipped[0])], [row], marker="|", color=EXPOSED, markersize=9)

    def legend(self, told: Sequence[tuple[str, str]]) -> None:
        """Add a legend of labels and colours."""
        for label, colour in told:
            self._axes.plot([], [], color=colour, linewidth=6, label=label)
        legend_above(self._axes, len(told))


def legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above the plot, where it covers nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)


def time_below(axes: Axes) -> None:
    """Label the x axis with the time in UTC, as coarsely as fits."""
    locator = AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.set_xlabel("UTC", loc="left", color=QUIET)
    axes.spines["bottom"].set_color(LINE)


def date(moment_ms: int) -> float:
    """Return a moment as matplotlib's date number."""
    return float(date2num(nearest_datetime(moment_ms)))  # type: ignore[no-untyped-call]
