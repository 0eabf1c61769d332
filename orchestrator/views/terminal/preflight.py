"""The results of preflight for operators: first what blocks, with the evidence and the fix.

The passed checks come last, one line each: the reader wants to know what to do.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from migration.assessment.checks.result import Outcome, Result

_STYLE: Final = {
    Outcome.FAIL: "bold red",
    Outcome.UNKNOWN: "bold magenta",
    Outcome.WARN: "bold yellow",
    Outcome.PASS: "green",
    Outcome.SKIPPED: "dim",
}
_TITLE: Final = {
    Outcome.FAIL: "to be mended",
    Outcome.UNKNOWN: "not known",
    Outcome.WARN: "to be looked at",
    Outcome.SKIPPED: "skipped",
    Outcome.PASS: "passed",
}
_QUIET: Final = (Outcome.SKIPPED, Outcome.PASS)
_INDENT: Final = 2


def picture(
    cluster: str, overall: Outcome, results: Sequence[Result], over: str | None = None
) -> RenderableType:
    """Return one cluster's checks.

    `over`: why there is nothing to migrate, or None.
    """
    if over is not None:
        return Text(f"{cluster}  preflight: {over}", style=_STYLE[Outcome.PASS], overflow="fold")
    parts: list[RenderableType] = [_head(cluster, overall, results)]
    depend = [one for one in results if one.is_consequence]
    results = [one for one in results if not one.is_consequence]
    blocking = [one for one in results if one.is_blocking]
    if blocking:
        parts += _loud("BLOCKS the migration window", blocking, "bold red")
    for outcome in (Outcome.FAIL, Outcome.UNKNOWN, Outcome.WARN):
        rest = [one for one in results if one.finding.outcome is outcome and not one.is_blocking]
        if rest:
            parts += _loud(_TITLE[outcome], rest, _STYLE[outcome])
    if depend:
        ids = ", ".join(one.check.id for one in depend)
        parts += [
            Text(""),
            Text(f"not known because of the above ({len(depend)})", style=_STYLE[Outcome.UNKNOWN]),
            Padding(Text(ids, overflow="fold"), (0, 0, 0, _INDENT)),
        ]
    for outcome in _QUIET:
        quiet = [one for one in results if one.finding.outcome is outcome]
        if quiet:
            parts += [Text(""), Text(f"{_TITLE[outcome]} ({len(quiet)})", style="bold")]
            parts.append(_lines(quiet))
    return Group(*parts)


def _head(cluster: str, overall: Outcome, results: Sequence[Result]) -> Text:
    head = Text(overflow="fold")
    head.append(cluster, style="bold")
    said = {
        Outcome.FAIL: "  preflight: the window must not open",
        Outcome.WARN: "  preflight: the window may open; look at the warnings",
    }
    head.append(said.get(overall, "  preflight: the window may open"), style=_STYLE[overall])
    counts = dict.fromkeys(Outcome, 0)
    for one in results:
        counts[one.finding.outcome] += 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    head.append(f"  ({told})", style="dim")
    return head


def _loud(title: str, results: Sequence[Result], style: str) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(""), Text(f"{title} ({len(results)})", style=style)]
    for one in results:
        finding = one.finding
        line = Text(overflow="fold")
        line.append(f"{finding.outcome:<7} ", style=_STYLE[finding.outcome])
        line.append(one.check.id, style="bold")
        line.append(f": {finding.summary}")
        parts.append(Padding(line, (0, 0, 0, _INDENT)))
        parts.append(Padding(_Bullets(finding.evidence), (0, 0, 0, 2 * _INDENT)))
        if finding.fix:
            fix = Text(f"what to do: {finding.fix}", style="italic", overflow="fold")
            parts.append(Padding(fix, (0, 0, 0, 2 * _INDENT)))
    return parts


class _Bullets:
    """Lines with a dash; a wrapped line is indented below its beginning."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = tuple(lines)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines as a table."""
        del console, options
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=1)
        table.add_column(overflow="fold")
        for line in self._lines:
            table.add_row("-", Text(line))
        if self._lines:
            yield table


def _lines(results: Sequence[Result]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in results:
        name = Text(f"  {one.check.id}", style=_STYLE[one.finding.outcome])
        table.add_row(name, Text(one.finding.summary))
    return table
