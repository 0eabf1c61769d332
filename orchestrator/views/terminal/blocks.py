"""Blocks of lines for the terminal, each with the space that it needs; see `layout`.

A text wraps over as many lines as it needs: a cut could hide the part that the operator needs.
A block ends early only if there is no room, and then shows an ellipsis.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from orchestrator.output.rich_console import console
from orchestrator.output.visible import visible
from orchestrator.views.terminal.layout import Want

_MORE: Final = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the screen that is drawn over some lines.

    Attributes:
        draw: returns the content for this number of lines, at least one.
    """

    want: Want
    draw: Callable[[int], Sequence[RenderableType]]


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

    want = Want(lines=len(lines), least=min(least, len(lines)), floor=floor, rank=rank)
    return Block(want=want, draw=draw)


def blank(rank: int) -> Block:
    """Return an empty line; with a high rank it is the first to be dropped."""
    return Block(want=Want(lines=1, rank=rank), draw=lambda _: [Text("")])


def text(words: str, style: str = "") -> Text:
    """Return foreign text; control characters, which could corrupt the terminal, are visible."""
    return Text(visible(words), style=style)


def wrapped(line: Text, width: int) -> list[Text]:
    """Return the text as lines of at most this width, broken at spaces if there are any."""
    parts = line.wrap(console(width=width), width, overflow="fold")
    for each in parts:
        each.rstrip()
    return list(parts)
