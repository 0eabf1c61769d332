"""Blocks of lines for the terminal, each with the space that it needs; see `fit`.

A text wraps over as many lines as it needs: a cut could hide the part that the operator needs.
A block ends early only if there is no room, and then shows an ellipsis.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from orchestrator.output.formatting import local_times
from orchestrator.output.rich_console import console
from orchestrator.output.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the screen that is drawn over some lines, and how far it can shrink.

    Attributes:
        lines: the number of lines if there is room.
        least: the number that remains while other blocks can shrink.
        floor: the number that always remains.
        rank: the block with the highest rank shrinks first.
        draw: returns the content for this number of lines, at least one.
        printed: the content where nothing bounds the lines; empty: the same.
    """

    lines: int
    least: int = 0
    floor: int = 0
    rank: int
    draw: Callable[[int], Sequence[RenderableType]]
    printed: Sequence[RenderableType] = ()


def fit(blocks: Sequence[Block], height: int) -> list[int]:
    """Return the lines of each block so that all fit; only the floors can exceed `height`."""
    given = [each.lines for each in blocks]
    order = sorted(range(len(blocks)), key=lambda at: -blocks[at].rank)
    for floors in ([each.least for each in blocks], [each.floor for each in blocks]):
        for at in order:
            excess = sum(given) - height
            if excess <= 0:
                return given
            given[at] = max(min(floors[at], given[at]), given[at] - excess)
    return given


def share(heights: Sequence[int], height: int) -> list[int]:
    """Return each part's lines: at most its height; lines that one leaves go to the others."""
    given = [0] * len(heights)
    left, open_ = height, sorted(range(len(heights)), key=lambda at: heights[at])
    while open_:
        at = open_.pop(0)
        given[at] = min(heights[at], left // (len(open_) + 1))
        left -= given[at]
    return given


_MORE: Final = "…"


def lines_of(
    texts: Iterable[Text], width: int, *, rank: int, least: int = 0, floor: int = 0
) -> Block:
    """Return a block of texts, one below the other; it ends early if there is no room."""
    lines = [line for each in texts for line in wrapped(each, width)]

    def draw(count: int) -> Sequence[Text]:
        if count >= len(lines):
            return lines
        last = lines[count - 1].copy()
        last.truncate(max(0, width - 2), overflow="crop")
        last.append(f" {_MORE}")
        return [*lines[: count - 1], last]

    least = min(least, len(lines))
    return Block(lines=len(lines), least=least, floor=floor, rank=rank, draw=draw)


def command_of(line: Text, width: int, *, rank: int, least: int = 0, floor: int = 0) -> Block:
    """Return the block of a command: where it is printed, the terminal wraps it.

    A line end of ours in a command, or in a path of it, would be copied with it. The live screen
    has to count its lines.
    """
    block = lines_of([line], width, rank=rank, least=least, floor=floor)
    return replace(block, printed=[unbroken(line.copy())])


def unbroken(line: Text) -> Text:
    """Return the text as one line, however long it is."""
    line.no_wrap, line.overflow = True, "ignore"
    return line


def cut(line: Text, width: int) -> Text:
    """Return the text on one line, ended by an ellipsis if it is too long."""
    line.no_wrap = True
    line.truncate(width, overflow="ellipsis")
    return line


def bare_table(*, heads: bool = True, gap: int = 1) -> Table:
    """Return an empty table without lines; `gap`: the spaces between its columns."""
    padding = (0, gap, 0, 0)
    return Table(box=None, show_header=heads, padding=padding, pad_edge=False, header_style="dim")


SHOWN_MAX: Final = 50
"""The most rows of a listing; the output with `--json` has all of them."""


def listing(*names: str, right: Sequence[str] = ()) -> Table:
    """Return an empty table of foldable columns; `right`: the last ones, aligned to the right."""
    table = bare_table(gap=2)
    for name in (*names, *right):
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def left_out(found: Sized) -> list[Text]:
    """Return the line about the rows that are not shown, if there are such rows."""
    count = len(found) - SHOWN_MAX
    return [Text(f"and {count} more: see --json", style="bold")] if count > 0 else []


def notes_of(notes: Iterable[str]) -> list[Text]:
    """Return an empty line and the notes, if there are any."""
    lines = [Text(f"note: {each}", overflow="fold") for each in notes]
    return [Text(""), *lines] if lines else []


def blank(rank: int) -> Block:
    """Return an empty line; with a high rank it is the first to be dropped."""
    return Block(lines=1, rank=rank, draw=lambda _: [Text("")])


def text(words: str, style: str = "") -> Text:
    """Return foreign text: control characters are visible, times are local with UTC."""
    return Text(visible(local_times(words)), style=style)


def wrapped(line: Text, width: int) -> list[Text]:
    """Return the text as lines of at most this width, broken at spaces if there are any."""
    parts = line.wrap(console(width=width), width, overflow="fold")
    for each in parts:
        each.rstrip()
    return list(parts)
