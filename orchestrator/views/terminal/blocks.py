"""Blocks of lines for the terminal, each with how much it matters; see `layout`.

Every text goes over as many lines as it needs: what is cut off in the night is what was needed.
Only where there is no room a block ends early, and says so.
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
    """Something that is drawn over some lines.

    Attributes:
        draw: gives what is drawn over so many lines, at least one.
    """

    want: Want
    draw: Callable[[int], Sequence[RenderableType]]


def lines_of(
    texts: Iterable[Text], width: int, *, rank: int, least: int = 0, floor: int = 0
) -> Block:
    """A block of texts, one below the other; it ends early where there is no room."""
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
    """An empty line, which goes first."""
    return Block(want=Want(lines=1, rank=rank), draw=lambda _: [Text("")])


def text(words: str, style: str = "") -> Text:
    """Words of strangers: what would turn the terminal over is shown instead."""
    return Text(visible(words), style=style)


def wrapped(line: Text, width: int) -> list[Text]:
    """Break a text into lines of at most this width, at spaces where there are any."""
    parts = line.wrap(console(width=width), width, overflow="fold")
    for each in parts:
        each.rstrip()
    return list(parts)
