"""A plan of moves between log directories, and how far its moves are."""

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from migration.moves.planner import Move
from migration.moves.verify import Progress, Verified
from orchestrator.api.moves import Planned
from orchestrator.output.formatting import short_age, short_bytes
from orchestrator.views.terminal.blocks import bare_table

SHOWN_MAX: Final = 50
_STYLE: Final = {
    Progress.COMPLETED: "green",
    Progress.MOVING: "bold yellow",
    Progress.MOVING_ELSEWHERE: "bold red",
    Progress.NOT_MOVING: "bold yellow",
    Progress.MISSING: "bold red",
    Progress.NOT_RECORDED: "bold yellow",
    Progress.UNKNOWN: "bold magenta",
}


def plan_picture(found: Planned) -> RenderableType:
    """Return the brokers, the destinations, at most `SHOWN_MAX` moves, and what is against them."""
    total = sum(each.bytes for each in found.moves)
    head = Text(overflow="fold")
    head.append(found.cluster, style="bold")
    head.append(f"  moves: {len(found.moves)}, {short_bytes(total)}")
    parts: list[RenderableType] = [head]
    if found.moves:
        parts += [Text(""), _brokers(found), Text(""), _destinations(found)]
        parts += [Text(""), _moves(found.moves[:SHOWN_MAX])]
    elif not found.unknown:
        parts.append(Text("nothing to move"))
    if len(found.moves) > SHOWN_MAX:
        parts.append(Text(f"and {len(found.moves) - SHOWN_MAX} more: see --json", style="bold"))
    lines = [
        *((f"forbidden: {each}", "bold red") for each in found.forbidden),
        *((f"not known: {each}", "bold magenta") for each in found.not_known),
    ]
    if lines:
        parts.append(Text(""))
        parts += [Text(text, style=style, overflow="fold") for text, style in lines]
    return Group(*parts)


def verified_picture(cluster: str, found: Sequence[Verified]) -> RenderableType:
    """Return the count of each progress, and at most `SHOWN_MAX` moves: the open ones first."""
    head = Text(overflow="fold")
    head.append(cluster, style="bold")
    for progress, style in _STYLE.items():
        count = sum(each.progress is progress for each in found)
        if count:
            head.append(f"  {_words(progress)}: {count}", style=style)
    table = _table("partition", "broker", "progress", "directory", "target", "lag")
    ordered = sorted(found, key=lambda each: each.progress is Progress.COMPLETED)
    for each in ordered[:SHOWN_MAX]:
        table.add_row(
            Text(str(each.at)),
            str(each.broker),
            Text(_words(each.progress), style=_STYLE[each.progress]),
            Text(each.path or "?"),
            Text(each.target),
            "" if each.future is None else "?" if each.lag is None else str(each.lag),
        )
    parts: list[RenderableType] = [head, Text(""), table]
    if len(found) > SHOWN_MAX:
        parts.append(Text(f"and {len(found) - SHOWN_MAX} more: see --json", style="bold"))
    why = dict.fromkeys(f"{each.at}: {each.why}" for each in ordered[:SHOWN_MAX] if each.why)
    if why:
        parts.append(Text(""))
        parts += [Text(f"note: {each}", overflow="fold") for each in why]
    return Group(*parts)


def _brokers(found: Planned) -> Table:
    table = _table("broker", "moves", "bytes", "throttle", "time")
    for id_, duration in sorted(found.seconds.items()):
        moves, rate = found.moves_of(id_), found.throttles.get(id_)
        table.add_row(
            str(id_),
            str(len(moves)),
            short_bytes(sum(each.bytes for each in moves)),
            "none known" if rate is None else f"{short_bytes(rate)}/s",
            "?" if duration is None else short_age(duration * 1000),
        )
    return table


def _destinations(found: Planned) -> Table:
    table = _table("broker", "destination", "free before", "free after")
    for each in found.space:
        style = "bold red" if each.after is not None and each.after < 0 else ""
        table.add_row(
            str(each.broker),
            Text(each.path),
            _size(each.before),
            Text(_size(each.after), style=style),
        )
    return table


def _moves(moves: Sequence[Move]) -> Table:
    table = _table("partition", "broker", "from", "to", "size")
    for each in moves:
        table.add_row(
            Text(str(each.at)),
            str(each.broker),
            Text(each.source),
            Text(each.target),
            short_bytes(each.bytes),
        )
    return table


def _table(*names: str) -> Table:
    table = bare_table(gap=2)
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _size(size: int | None) -> str:
    if size is None:
        return "?"
    return short_bytes(size) if size >= 0 else f"-{short_bytes(-size)}"


def _words(progress: Progress) -> str:
    return progress.replace("_", " ")
