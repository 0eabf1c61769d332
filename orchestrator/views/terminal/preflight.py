"""The results of preflight for operators: first what blocks, with the evidence and the fix.

The passed checks come last, one line each: the reader wants to know what to do.
"""

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from migration.assessment.checks.check import Result, consequences
from migration.assessment.checks.phase import OVER, UNDER_WAY
from migration.assessment.finding import Finding, Verdict
from migration.image.summary import Phase
from migration.values.severity import Severity
from orchestrator.views.terminal.blocks import bare_table

_FAIL, _UNKNOWN, _WARN, _PASS, _SKIPPED = "fail", "unknown", "warn", "pass", "skipped"
_STYLE: Final = {
    _FAIL: "bold red",
    _UNKNOWN: "bold magenta",
    _WARN: "bold yellow",
    _PASS: "green",
    _SKIPPED: "dim",
}
_TITLE: Final = {
    _FAIL: "to be fixed",
    _UNKNOWN: "unknown",
    _WARN: "warnings",
    _SKIPPED: "skipped",
    _PASS: "passed",
}
_INDENT: Final = 2


def outcome_of(finding: Finding) -> str:
    """Return the public word for a check's finding."""
    match finding.verdict:
        case Verdict.VIOLATED:
            return worst_outcome(finding.severity)
        case Verdict.SATISFIED:
            return _PASS
        case Verdict.SKIPPED:
            return _SKIPPED
        case _:
            return _UNKNOWN


def worst_outcome(worst: Severity | None) -> str:
    """Return the public word for the result of all checks; `worst`: of `checks.run.overall`."""
    if worst is None:
        return _PASS
    return _FAIL if worst is Severity.CRITICAL else _WARN


def picture(
    cluster: str, worst: Severity | None, results: Sequence[Result], phase: Phase | None
) -> RenderableType:
    """Return one cluster's checks; `phase` None: unknown."""
    if phase is not None and phase in OVER:
        return Text(f"{cluster}  preflight: {OVER[phase]}", style=_STYLE[_PASS], overflow="fold")
    parts: list[RenderableType] = [_head(cluster, worst_outcome(worst), results, phase)]
    depend = consequences(results)
    results = [one for one in results if one not in depend]
    blocking = [one for one in results if one.is_blocking]
    if blocking:
        parts += _loud("BLOCKS the migration window", blocking, "bold red")
    for outcome in (_FAIL, _UNKNOWN, _WARN):
        rest = [
            one for one in results if outcome_of(one.finding) == outcome and not one.is_blocking
        ]
        if rest:
            parts += _loud(_TITLE[outcome], rest, _STYLE[outcome])
    if depend:
        ids = ", ".join(one.check.id for one in depend)
        parts += [
            Text(""),
            Text(f"unknown because of the above ({len(depend)})", style=_STYLE[_UNKNOWN]),
            Padding(Text(ids, overflow="fold"), (0, 0, 0, _INDENT)),
        ]
    for outcome in (_SKIPPED, _PASS):
        quiet = [one for one in results if outcome_of(one.finding) == outcome]
        if quiet:
            parts += [Text(""), Text(f"{_TITLE[outcome]} ({len(quiet)})", style="bold")]
            parts.append(_lines(quiet))
    return Group(*parts)


def _head(cluster: str, overall: str, results: Sequence[Result], phase: Phase | None) -> Text:
    head = Text(overflow="fold")
    head.append(cluster, style="bold")
    good, bad = "the window may open", "the window must not open"
    if phase in UNDER_WAY:
        good = f"the migration is in progress ({phase})"
        bad = f"{good}; fix what blocks it"
    conclusion = {_FAIL: bad, _WARN: f"{good}; check the warnings"}.get(overall, good)
    head.append(f"  preflight: {conclusion}", style=_STYLE[overall])
    outcomes = [outcome_of(one.finding) for one in results]
    counts = {each: outcomes.count(each) for each in _STYLE}
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    head.append(f"  ({counted})", style="dim")
    return head


def _loud(title: str, results: Sequence[Result], style: str) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(""), Text(f"{title} ({len(results)})", style=style)]
    for one in results:
        finding = one.finding
        line = Text(overflow="fold")
        outcome = outcome_of(finding)
        line.append(f"{outcome:<7} ", style=_STYLE[outcome])
        line.append(one.check.id, style="bold")
        line.append(f": {finding.reason}")
        parts.append(Padding(line, (0, 0, 0, _INDENT)))
        if finding.evidence:
            parts.append(Padding(_bullets(finding.shown), (0, 0, 0, 2 * _INDENT)))
        if finding.fix:
            fix = Text(f"what to do: {finding.fix}", style="italic", overflow="fold")
            parts.append(Padding(fix, (0, 0, 0, 2 * _INDENT)))
    return parts


def _bullets(lines: Sequence[str]) -> Table:
    """Return lines with a dash; a wrapped line is indented below its beginning."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row("-", Text(line))
    return table


def _lines(results: Sequence[Result]) -> Table:
    table = bare_table(heads=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in results:
        name = Text(f"  {one.check.id}", style=_STYLE[outcome_of(one.finding)])
        table.add_row(name, Text(one.finding.reason))
    return table
