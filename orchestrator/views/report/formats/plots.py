"""The report's plots: phases and checkpoints, the brokers' states, replicas over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import groupby
from typing import Final, Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from migration.values.evidence import count
from migration.values.timestamps import nearest_datetime
from migration.values.timestamps import utc_text as at
from orchestrator.api.report.brokers import BrokerAccount, Series
from orchestrator.api.report.execution import CheckpointAccount
from orchestrator.api.report.report import ClusterReport
from orchestrator.api.report.shape import Span
from orchestrator.output.visible import visible
from orchestrator.views.report.accounts.phases import UNKNOWN
from orchestrator.views.report.formats.svg import SERIES, Colour, embedded, style
from orchestrator.views.report.times import lasting

_Range: TypeAlias = tuple[int, int]
"""The beginning and the end of a cluster's plots, in ms."""
_WIDTH_IN: Final = 10.0
_ROWS_LOW: Final = 40
"""With more rows than this, the rows are smaller."""
_LINES_MAX: Final = len(SERIES)
"""Up to this number of brokers each has a line; of more, a band shows the range of the shares."""
_INSTANCES_MAX: Final = 24
"""A checkpoint with more instances than this has one row for all of them."""
_COLOUR_OF: Final = {
    "passed": Colour.PASSED,
    "not needed": Colour.PASSED,
    "stands": Colour.PENDING,
    "skipped": Colour.BAD,
    "aborted": Colour.BAD,
}


class _Rows:
    """A figure with a row for each label, the first at the top."""

    def __init__(self, axis: _Range, labels: Sequence[str]) -> None:
        height = 0.26 if len(labels) <= _ROWS_LOW else 0.14
        size = (_WIDTH_IN, 0.9 + height * max(2, len(labels)))
        self.figure = Figure(figsize=size, layout="constrained")
        self._axis = axis
        self._axes = axes = self.figure.subplots()
        axes.set_yticks(
            range(len(labels)),
            [visible(each) for each in labels],
            fontsize=8 if len(labels) <= _ROWS_LOW else 5,
            color=Colour.INK,
        )
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlim(_date(axis[0]), _date(axis[1]))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", linewidth=0.5)
        axes.set_axisbelow(True)
        _time_below(axes)

    def bar(self, row: int, each: Span, colour: str, height: float = 0.7) -> None:
        """Draw a span, clipped to the axis."""
        clipped = _clipped(each, self._axis)
        if clipped is not None:
            began, ended = _date(clipped[0]), _date(clipped[1])
            self._axes.broken_barh(
                [(began, ended - began)],
                (row - height / 2, height),
                facecolors=colour,
                edgecolors=colour,
                linewidth=0.8,  # so that a span of milliseconds is visible
            )

    def mark(self, row: int, each: Span) -> None:
        """Mark the beginning of a span, which may be too short to be visible."""
        clipped = _clipped(each, self._axis)
        if clipped is not None:
            began = _date(clipped[0])
            self._axes.plot([began], [row], marker="|", color=Colour.EXPOSED, markersize=9)

    def legend(self, colours: Mapping[str, str]) -> None:
        for label, colour in colours.items():
            self._axes.plot([], [], color=colour, linewidth=6, label=label)
        _legend_above(self._axes, len(colours))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot: its kind, its SVG, and its title."""

    of: Literal["way", "brokers", "replicas"]
    svg: str
    title: str


def plots(cluster: ClusterReport, name: str) -> list[Plot]:
    """Return the plots that have data; `name` is the prefix of their ids, unique in the page."""
    window = cluster.window
    ended_ms = window.ended_at if window.ended_at is not None else cluster.as_of
    if window.began_at is None or ended_ms is None or ended_ms <= window.began_at:
        return []
    axis = window.began_at, ended_ms
    with style():
        return [
            _way(cluster, axis, f"{name}-plot-way"),
            *_brokers(cluster, axis, f"{name}-plot-brokers"),
            *_replicas(cluster.replicas, f"{name}-plot-replicas"),
        ]


def _way(cluster: ClusterReport, axis: _Range, name: str) -> Plot:
    """Return the plot of the phases, then of each execution's checkpoints, as bars on one axis."""
    lines: list[tuple[str, list[tuple[Span, str]]]] = []
    several = len(cluster.attempts) > 1
    for phase in cluster.phases:
        of = f"attempt {phase.attempt}: " if several and phase.attempt else ""
        of_phase = Colour.QUIET if phase.phase == UNKNOWN else Colour.GOOD
        lines.append((f"{of}phase {phase.phase}", [(phase, of_phase)]))
    for execution in cluster.walks:
        which = f"{execution.number}: " if len(cluster.walks) > 1 else ""
        for id_, same in groupby(execution.checkpoints, key=lambda each: each.id.partition("[")[0]):
            bars = [(each.id, _bar_of(each)) for each in same]
            if len(bars) > _INSTANCES_MAX:
                lines.append((f"{which}{id_} ({len(bars)})", [bar for _, bar in bars]))
            else:
                lines += [(which + instance, [bar]) for instance, bar in bars]
    lines = [row for row in lines if any(_clipped(each, axis) is not None for each, _ in row[1])]
    rows = _Rows(axis, [label for label, _ in lines])
    for number, (_, some) in enumerate(lines):
        for each, colour in some:
            rows.bar(number, each, colour)
    title = f"Phases and checkpoints of {cluster.cluster}"
    words = "; ".join(f"{label} {_from_to(some)}" for label, some in lines)
    return Plot(of="way", svg=embedded(rows.figure, name, title, words), title=title)


def _bar_of(each: CheckpointAccount) -> tuple[Span, str]:
    of = Span(began_at=each.entered_at, ended_at=each.ended_at, duration_ms=each.duration_ms)
    return of, _COLOUR_OF.get(each.result, Colour.BACK)


def _brokers(cluster: ClusterReport, axis: _Range, name: str) -> Iterator[Plot]:
    """Yield the plot with a row for each broker: fenced, held, unfenced early."""
    shown = [each for each in cluster.brokers if each.incarnations]
    if not shown:
        return
    rows = _Rows(axis, [f"broker {each.id}" for each in shown])
    for number, broker in enumerate(shown):
        for one in broker.incarnations:
            for fenced in one.fenced:
                rows.bar(number, fenced, Colour.FENCED, height=0.3)
            if one.held is not None:
                rows.bar(number, one.held, Colour.HELD)
            for exposed in one.exposed:
                rows.bar(number, exposed, Colour.EXPOSED)
                rows.mark(number, exposed)
    rows.legend({"fenced": Colour.FENCED, "held": Colour.HELD, "unfenced early": Colour.EXPOSED})
    title = f"When brokers of {cluster.cluster} were held, fenced and unfenced early"
    words = "; ".join(_spent(each) for each in shown)
    yield Plot(of="brokers", svg=embedded(rows.figure, name, title, words), title=title)


def _spent(broker: BrokerAccount) -> str:
    return (
        f"broker {broker.id}: held {lasting(broker.held_ms)}, fenced {lasting(broker.fenced_ms)},"
        f" unfenced early {lasting(broker.exposed_ms)}"
    )


def _replicas(series: Series | None, name: str) -> Iterator[Plot]:
    """Yield the plot of replicas with and without a known directory: in total, then by broker."""
    if series is None:
        return
    figure = Figure(figsize=(_WIDTH_IN, 5.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    moments = [_date(each) for each in series.at]
    upper.stackplot(
        moments,
        series.assigned,
        series.pending,
        series.unusable,
        colors=[Colour.GOOD, Colour.PENDING, Colour.BAD],
        labels=["in a known directory", "without a known one", "offline"],
        step="post",
    )
    upper.set_ylabel("replicas")
    upper.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend_above(upper, 3)
    if len(series.brokers) <= _LINES_MAX:
        for each, colour in zip(series.brokers, SERIES, strict=False):
            label = f"broker {each.id}"
            lower.step(moments, each.assigned, color=colour, where="post", label=label)
        lower.set_ylabel("in a known directory")
        lower.yaxis.set_major_locator(MaxNLocator(integer=True))
        _legend_above(lower, _LINES_MAX // 2)
    else:
        _band(lower, series, moments)
    for axes in (upper, lower):
        axes.margins(x=0)
        axes.grid(axis="y", linewidth=0.5)
    _time_below(lower)
    title = "Replicas by what is known of their directory, over time"
    yield Plot(of="replicas", svg=embedded(figure, name, title, _ends(series)), title=title)


def _band(axes: Axes, series: Series, moments: Sequence[float]) -> None:
    """Draw the minimum, the median and the maximum of the brokers' shares."""
    low, middle, high = [], [], []
    for moment in range(len(moments)):
        shares = sorted(
            each.assigned[moment] * 100 / total
            for each in series.brokers
            if (total := each.assigned[moment] + each.pending[moment])
        ) or [0.0]
        low.append(shares[0])
        middle.append(shares[len(shares) // 2])
        high.append(shares[-1])
    axes.fill_between(
        moments, low, high, color=Colour.PENDING, step="post", label="least to greatest"
    )
    axes.step(moments, middle, color=Colour.INK, where="post", label="middle")
    axes.set_ylabel(f"% known, of {len(series.brokers)} brokers")
    axes.set_ylim(0, 105)
    _legend_above(axes, 2)


def _ends(series: Series) -> str:
    return " ".join(
        f"At {at(series.at[n])}: {count(series.assigned[n], 'replica')} in a known directory,"
        f" {series.pending[n]} without one, {series.unusable[n]} offline."
        for n in (0, len(series.at) - 1)
    )


def _from_to(bars: Sequence[tuple[Span, str]]) -> str:
    first, last = bars[0][0], bars[-1][0]
    began = "the beginning" if first.began_at is None else at(first.began_at)
    ended = "now" if last.ended_at is None else at(last.ended_at)
    return f"from {began} to {ended}"


def _clipped(each: Span, axis: _Range) -> _Range | None:
    """Return the part of a span that is in the range; None: there is none."""
    began_ms = axis[0] if each.began_at is None else max(each.began_at, axis[0])
    ended_ms = axis[1] if each.ended_at is None else min(each.ended_at, axis[1])
    return (began_ms, ended_ms) if ended_ms >= began_ms else None


def _legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above the plot, where it covers nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)


def _time_below(axes: Axes) -> None:
    """Label the x axis with the time in UTC, as coarsely as fits."""
    locator = AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.set_xlabel("UTC", loc="left", color=Colour.QUIET)
    axes.spines["bottom"].set_color(Colour.LINE)


def _date(moment_ms: int) -> float:
    return float(date2num(nearest_datetime(moment_ms)))  # type: ignore[no-untyped-call]
