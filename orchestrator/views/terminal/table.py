"""One cluster on a terminal: header, phases, a row per broker, the latest events, the wait.

A `Picture` is a pure function of the assessment, the time and the space; it draws what fits. It
always shows what the migration waits for and the checkpoint of an execution. If not all brokers
fit, the most urgent ones come first and the others are counted.

The table of the brokers is as wide as the terminal: the bar gets the remaining columns. A bar has
one letter per state, so that it needs no colour.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from migration.assessment.assess import Assessment
from migration.assessment.eta import Eta, NoEstimate, rate_per_second
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.events import Event, in_time_order
from migration.metadata.replica_state import ReplicaState
from migration.values.durations import duration_text
from orchestrator.output.event_text import sentence, weight_of
from orchestrator.output.formatting import local_time, short_age, short_rate, zone_text
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessed, urgency
from orchestrator.views.terminal import head
from orchestrator.views.terminal.blocks import Block, bare_table, blank, cut, fit, lines_of, text
from orchestrator.views.terminal.waiting import (
    execution_blocks,
    hazard_blocks,
    next_blocks,
    other_blocks,
)

_EVENTS_MAX: Final = 12
_EVENTS_LEAST: Final = 4
"""The title and three events."""
_BROKERS_LEAST: Final = 5
"""The header, three rows, and the count of the others."""
LETTERS: Final = {
    ReplicaState.ASSIGNED: ("A", "black on green"),
    ReplicaState.MIGRATING: ("M", "black on yellow"),
    ReplicaState.UNASSIGNED: ("U", "black on bright_yellow"),
    ReplicaState.OFFLINE: ("O", "white on red"),
    ReplicaState.LOST: ("L", "white on bright_red"),
    ReplicaState.RESERVED: ("R", "white on magenta"),
}
"""In the order of the bar: from the left, the replicas that have a directory."""
_BAR_MIN: Final = 6
_BAR_MAX: Final = 60
_MODE_STYLE: Final = {Mode.ZOOKEEPER: "dim", Mode.MIGRATING: "yellow", Mode.KRAFT: "green"}
_WIDE: Final = 76
"""Below this width, the columns rate and last (time since the last progress) are dropped."""
_ROOMY: Final = 100
"""From this width on, an ETA is shown with its interval."""


class Picture:
    """The picture of one cluster, at most `width` columns wide."""

    def __init__(self, one: Assessed, width: int) -> None:
        self._blocks = list(_blocks(one, width))

    @property
    def height(self) -> int:
        """The number of lines of the whole picture."""
        return sum(each.lines for each in self._blocks)

    @property
    def floor(self) -> int:
        """The number of lines that it needs at least."""
        return sum(each.floor for each in self._blocks)

    def draw(self, height: int | None = None) -> RenderableType:
        """Return the picture over at most `height` lines.

        None: all of it, to be printed without cropping: its commands may be longer than a line.
        """
        parts: list[RenderableType] = []
        if height is None:
            for block in self._blocks:
                parts += block.printed or block.draw(block.lines)
            return Group(*parts)
        given = fit(self._blocks, height)
        for block, count in zip(self._blocks, given, strict=True):
            parts += block.draw(count) if count else ()
        return Group(*parts)


def _blocks(one: Assessed, width: int) -> Iterator[Block]:
    summary = one.summary
    yield lines_of([head.title(one)], width, rank=0, least=1, floor=1)
    yield lines_of([head.steps(summary.known_phase, width)], width, rank=15, least=1)
    yield lines_of([head.facts(one)], width, rank=17)
    beside = head.sources(one)
    if beside is not None:
        yield lines_of([beside], width, rank=12, least=1)
    yield blank(rank=20)
    yield _brokers(one.assessment, width)
    if summary.brokers:
        yield lines_of([cut(legend(), width)], width, rank=19)
    if early := was_early(summary.brokers):
        yield lines_of([cut(Text(early, style="magenta"), width)], width, rank=19)
    if one.read.events:
        latest = (event for _, event in one.read.events[-_EVENTS_MAX:])
        yield _events(in_time_order(latest), one.now_ms, width)
    yield blank(rank=20)
    yield from hazard_blocks(one.assessment.hazards, one.now_ms, width)
    for limit in one.read.limits:
        yield lines_of([text(f"LIMIT {limit}", "yellow")], width, rank=16, least=1)
    if one.read.execution is not None:
        yield from execution_blocks(one.read.execution, width)
    yield from next_blocks(one, width)
    yield from other_blocks(one, width)


def _brokers(assessment: Assessment, width: int) -> Block:
    """Return a row for each broker and, if some are left out, a line that counts them."""
    brokers = assessment.summary.brokers
    if not brokers:
        return lines_of([Text("no broker is known yet", style="dim")], width, rank=11, least=1)

    def draw(count: int) -> list[RenderableType]:
        whole = count > len(brokers)
        rows = len(brokers) if whole else max(0, count - 2)
        failed = assessment.failed_by_broker
        ranked = {each.id: urgency(each, has_failed=each.id in failed) for each in brokers}
        by_urgency = sorted(brokers, key=lambda broker: (ranked[broker.id], broker.id))
        shown = sorted(by_urgency[:rows], key=lambda broker: broker.id)
        parts: list[RenderableType] = []
        if shown:
            parts.append(broker_table(assessment, shown, width))
        if rows < len(brokers):
            more = "more brokers, none more urgent" if rows else "brokers: no room for them here"
            parts.append(Text(f"and {len(brokers) - rows} {more}"[:width], style="dim"))
        return parts

    return Block(lines=len(brokers) + 1, least=_BROKERS_LEAST, rank=11, draw=draw)


def _events(events: Sequence[Event], now_ms: int, width: int) -> Block:
    """Return the latest events by cluster time, the last at the bottom, each cut to one line.

    The times are local; the title names the zone. `kraftgate status --json` has all fields.
    """
    lines = []
    for event in events:
        moment = event.moment_ms
        line = Text(f"{'-' if moment is None else local_time(moment)} ", style="dim")
        bad = weight_of(event.kind) == "bad"
        line.append_text(text(sentence(event), "not dim bold red" if bad else "not dim"))
        lines.append(cut(line, width))
    title = f"latest events, {zone_text(now_ms)}"

    def draw(count: int) -> list[Text]:
        newest = lines[len(lines) - count + 1 :] if count > 1 else []
        return [Text(title, style="bold"), *newest] if newest else []

    return Block(lines=len(lines) + 1, least=_EVENTS_LEAST, rank=18, draw=draw)


def cells(replicas: Mapping[ReplicaState, int], width: int) -> dict[ReplicaState, int]:
    """Return the number of cells of each state: in proportion, at least one if the state occurs.

    The sum is `width` if there is a replica. If `width` is below the number of states that occur,
    the last states are left out.
    """
    present = [state for state in LETTERS if replicas[state] > 0][:width]
    total = sum(replicas[state] for state in present)
    if not present or total == 0:
        return {}
    spare = width - len(present)
    shares = {state: replicas[state] * spare / total for state in present}
    given = {state: 1 + int(share) for state, share in shares.items()}
    by_rest = sorted(present, key=lambda state: shares[state] % 1, reverse=True)
    for state in by_rest[: width - sum(given.values())]:
        given[state] += 1
    return given


def bar(replicas: Mapping[ReplicaState, int], width: int) -> Text:
    """Return the bar; for a broker without replicas, the text `no replicas`."""
    drawn = Text(no_wrap=True)
    for state, count in cells(replicas, width).items():
        letter, style = LETTERS[state]
        drawn.append(letter * count, style=style)
    if not drawn:
        drawn.append("no replicas"[:width].ljust(width), style="dim")
    return drawn


def legend() -> Text:
    line = Text()
    for state, (letter, style) in LETTERS.items():
        line.append(letter, style=style)
        line.append(f" {state}  ", style="dim")
    line.rstrip()
    return line


_SPARED: Final = ("replicas", "ETA", "mode")
"""The columns to leave out, in this order, if the width does not suffice for all."""


def broker_table(assessment: Assessment, brokers: Sequence[BrokerSummary], width: int) -> Table:
    """Return the rows of these brokers; on a narrow terminal with fewer columns, never cut ones."""
    wide = width >= _WIDE
    heads = ["id", "mode", "state", "hold", "pending", "rate", "ETA", "last", "replicas"]
    columns = [_cells(assessment, each, roomy=width >= _ROOMY) for each in brokers]
    needs = {
        each: max(len(each), *(row[i].cell_len for row in columns)) + 1
        for i, each in enumerate(heads[:-1])
    } | {heads[-1]: _BAR_MIN}
    kept = [each for each in heads if wide or each not in {"rate", "last"}]
    for spared in _SPARED:
        if sum(needs[each] for each in kept) > width:
            kept.remove(spared)
    used = sum(needs[each] for each in kept if each != heads[-1])
    bar_width = max(_BAR_MIN, min(_BAR_MAX, width - used))
    table = bare_table()
    for each in kept:
        number = each in {"id", "pending", "rate", "ETA", "last"}
        table.add_column(each, no_wrap=True, justify="right" if number else "left")
    for broker, row in zip(brokers, columns, strict=True):
        shown = dict(zip(heads, (*row, _bar(assessment, broker, bar_width)), strict=True))
        table.add_row(*(shown[each] for each in kept))
    return table


def eta_text(eta: Eta | None, *, roomy: bool) -> str:
    """Return an estimate in at most six characters, with its interval in at most 21; `-`: none."""
    if eta is None or isinstance(eta, NoEstimate):
        return "-"
    about = short_age(eta.seconds * 1000)
    if not roomy:
        return about
    return f"{about} ({short_age(eta.low * 1000)}-{short_age(eta.high * 1000)})"


def was_early(brokers: Sequence[BrokerSummary]) -> str | None:
    """Return the brokers that were unfenced early, and for how long; None: none, or not over."""
    periods = [
        f"broker {each.id} for {duration_text(each.unfenced_early.duration_ms)}"
        for each in brokers
        if each.unfenced_early is not None and each.unfenced_early.duration_ms is not None
    ]
    return f"unfenced early: {', '.join(periods)}" if periods else None


def _counted(assessment: Assessment, broker: BrokerSummary) -> str:
    """Return pending and total replicas; `?` for a number that no source knows."""
    if assessment.counts(broker):
        return f"{broker.pending}/{sum(broker.replicas.values())}"
    total = assessment.summary.replicas_on_disk(broker.id)
    return "?" if total is None else f"?/{total}"


def _bar(assessment: Assessment, broker: BrokerSummary, width: int) -> Text:
    if assessment.counts(broker):
        return bar(broker.replicas, width)
    total = assessment.summary.replicas_on_disk(broker.id)
    words = "unknown" if total is None else f"{total} on disk"
    return Text(words[:width].ljust(width), style="dim", no_wrap=True)


def _cells(assessment: Assessment, broker: BrokerSummary, *, roomy: bool) -> list[Text]:
    return [
        Text(str(broker.id), style="bold"),
        Text(str(broker.mode), style=_MODE_STYLE[broker.mode]),
        _state(broker),
        Text("HELD", style="bold black on yellow") if broker.held else Text("-", style="dim"),
        Text(_counted(assessment, broker)),
        Text(short_rate(rate_per_second(broker))),
        Text(eta_text(assessment.etas.get(broker.id), roomy=roomy)),
        Text(_since_progress(broker, assessment.now_ms)),
    ]


def _state(broker: BrokerSummary) -> Text:
    if broker.mode is Mode.ZOOKEEPER:
        return Text("-", style="dim")
    if broker.fenced:
        return Text("stopping" if broker.in_controlled_shutdown else "fenced", style="red")
    if broker.is_unfenced_early:
        return Text("unfenced early", style="bold magenta")
    return Text("unfenced", style="green")


def _since_progress(broker: BrokerSummary, now_ms: int) -> str:
    """Return the time since a held broker's last assignment, or else since its hold began."""
    if not broker.held:
        return "-"
    since = broker.last_progress_ms
    return "-" if since is None else short_age(now_ms - since)


def save_svg(renderable: RenderableType, path: Path, *, width: int = 100, title: str = "") -> None:
    """Write the output of a terminal of this width as an SVG picture."""
    out = console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    out.print(renderable)
    out.save_svg(str(path), title=title or "kraftgate run")
