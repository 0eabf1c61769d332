"""One cluster on a terminal: header, phases, a row per broker, the latest events, the wait.

A `Picture` is a pure function of the assessment, the time and the space; it draws what fits. It
always shows what the migration waits for and the checkpoint of an execution. If not all brokers
fit, the most urgent ones come first and the others are counted.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from migration.assessment.assess import Assessment
from migration.metadata.events import Event, in_time_order
from migration.values.timestamps import time_text
from orchestrator.output.formatting import event_fields, pairs
from orchestrator.output.rich_console import console
from orchestrator.run.assessed import Assessed
from orchestrator.views.terminal import head
from orchestrator.views.terminal.blocks import Block, Want, blank, cut, fit, lines_of, text
from orchestrator.views.terminal.rows import broker_table, legend, most_urgent_first, was_early
from orchestrator.views.terminal.waiting import execution_blocks, hazard_blocks, waiting_blocks

_EVENTS_MAX: Final = 12
_EVENTS_LEAST: Final = 4
"""The title and three events."""
_BROKERS_LEAST: Final = 5
"""The header, three rows, and the count of the others."""


class Picture:
    """The picture of one cluster, at most `width` columns wide."""

    def __init__(self, one: Assessed, width: int) -> None:
        self._blocks = list(_blocks(one, width))

    @property
    def height(self) -> int:
        """The number of lines of the whole picture."""
        return sum(each.want.lines for each in self._blocks)

    def draw(self, height: int | None = None) -> RenderableType:
        """Return the picture over at most `height` lines; None: all of it."""
        wants = [each.want for each in self._blocks]
        given = [each.lines for each in wants] if height is None else fit(wants, height)
        parts: list[RenderableType] = []
        for block, count in zip(self._blocks, given, strict=True):
            parts += block.draw(count) if count else ()
        return Group(*parts)


def _blocks(one: Assessed, width: int) -> Iterator[Block]:
    summary = one.summary
    yield lines_of([head.title(one)], width, rank=0, least=1, floor=1)
    yield lines_of([head.steps(summary.phase, width)], width, rank=15, least=1)
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
    if one.events:
        latest = (event for _, event in one.events[-_EVENTS_MAX:])
        yield _events(in_time_order(latest), width)
    yield blank(rank=20)
    yield from hazard_blocks(one.hazards, width)
    for limit in one.read.limits:
        yield lines_of([text(f"LIMIT {limit}", "yellow")], width, rank=16, least=1)
    if one.execution is not None:
        yield from execution_blocks(one.execution, width)
    yield from waiting_blocks(one, width)


def _brokers(assessment: Assessment, width: int) -> Block:
    """Return a row for each broker and, if some are left out, a line that counts them."""
    brokers = assessment.summary.brokers
    if not brokers:
        return lines_of([Text("no broker is known yet", style="dim")], width, rank=11, least=1)

    def draw(count: int) -> list[RenderableType]:
        whole = count > len(brokers)
        rows = len(brokers) if whole else max(0, count - 2)
        shown = sorted(most_urgent_first(brokers)[:rows], key=lambda broker: broker.id)
        parts: list[RenderableType] = []
        if shown:
            parts.append(broker_table(assessment, shown, width))
        if rows < len(brokers):
            more = "more brokers, none more urgent" if rows else "brokers: no room for them here"
            parts.append(Text(f"and {len(brokers) - rows} {more}"[:width], style="dim"))
        return parts

    want = Want(lines=len(brokers) + 1, least=_BROKERS_LEAST, rank=11)
    return Block(want=want, draw=draw)


def _events(events: Sequence[Event], width: int) -> Block:
    """Return the latest events by cluster time, the last at the bottom, each cut to one line.

    `kraftgate status --json` has them in full.
    """
    lines = []
    for event in events:
        fields = {k: v for k, v in event_fields(event).items() if k not in {"at", "kind"}}
        moment = event.moment_ms
        at = "-" if moment is None else time_text(moment)
        line = Text(f"{at} ", style="dim")
        line.append(event.kind, style="bold not dim")
        line.append(f" {pairs(fields)}", style="not dim")
        lines.append(cut(line, width))

    def draw(count: int) -> list[Text]:
        newest = lines[len(lines) - count + 1 :] if count > 1 else []
        return [Text("latest events", style="bold"), *newest] if newest else []

    return Block(want=Want(lines=len(lines) + 1, least=_EVENTS_LEAST, rank=18), draw=draw)


def save_svg(renderable: RenderableType, path: Path, *, width: int = 100, title: str = "") -> None:
    """Write the output of a terminal of this width as an SVG picture."""
    out = console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    out.print(renderable)
    out.save_svg(str(path), title=title or "kraftgate run")
