"""The predicted effect of a failure: the count of each fate, then the partitions in danger."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from migration.what_if import HARMLESS, SERIOUS, Basis, Fate, Line, Prediction
from orchestrator.views.terminal.blocks import SHOWN_MAX, bare_table, left_out, listing, notes_of

_STYLE: Final = {
    Fate.LOST: "bold red",
    Fate.UNAVAILABLE: "bold red",
    Fate.LEADER_NOT_MOVED: "bold red",
    Fate.UNKNOWN: "bold magenta",
    Fate.UNDER_MIN_ISR: "bold yellow",
    Fate.LEADER_MOVES: "green",
    Fate.UNDER_REPLICATED: "green",
}
_MEANS: Final = {
    Fate.LOST: "no other replica: the data is gone with it",
    Fate.UNAVAILABLE: "no other replica can lead: only an unclean election could restore it",
    Fate.LEADER_NOT_MOVED: "others are in sync, but the leader is not moved: no broker serves it",
    Fate.UNKNOWN: "unknown: assume the worst",
    Fate.UNDER_MIN_ISR: "led, but acks=all is refused: under min.insync.replicas",
    Fate.LEADER_MOVES: "another replica in sync takes over",
    Fate.UNDER_REPLICATED: "one replica less",
}
_BASIS: Final = {
    Basis.CLUSTER: "the brokers' metadata",
    Basis.DISKS: "the disks only",
    Basis.METADATA_LOG: "the metadata log only",
    Basis.BOTH: "disks and metadata log",
}


def picture(
    cluster: str, asked: Prediction, directories: Sequence[Prediction], notes: Sequence[str] = ()
) -> RenderableType:
    """Return the prediction; `directories`: one line each; `notes`: added before its own notes."""
    parts: list[RenderableType] = [_head(cluster, asked), Text(""), _counts(asked)]
    minded = [each for each in asked.lines if each.fate not in HARMLESS]
    parts += _groups(minded[:SHOWN_MAX])
    parts += left_out(minded)
    if directories:
        title = "not counted above, if only one of its directories failed (why: --log-dir):"
        parts += [Text(""), Text(title, style="bold")]
        parts += [_directory(each) for each in directories]
    return Group(*parts, *notes_of([*notes, *asked.notes]))


def _head(cluster: str, asked: Prediction) -> Text:
    what = f"broker {asked.broker}"
    if asked.log_dir is not None:
        what = f"{asked.log_dir} of {what}"
    mode = "mode not known" if asked.mode is None else f"{asked.mode} mode"
    head = Text(overflow="fold")
    head.append(cluster, style="bold")
    head.append(f"  if {what} ({mode}) failed now: ")
    serious = sum(asked.counts[each] for each in SERIOUS)
    if serious:
        head.append(f"{serious} of {len(asked.lines)} partitions in danger", style="bold red")
    elif asked.hidden is not None:
        head.append("unknown: partitions may be hidden", style="bold magenta")
    elif asked.counts[Fate.UNDER_MIN_ISR]:
        head.append("nothing is lost, but producers are refused", style="bold yellow")
    else:
        head.append("no harm is to be expected", style="bold green")
    return head


def _counts(asked: Prediction) -> RenderableType:
    table = bare_table(heads=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    counts = asked.counts
    for fate in Fate:
        if counts[fate]:
            table.add_row(str(counts[fate]), Text(fate, style=_STYLE[fate]), _MEANS[fate])
    return table if asked.lines else Text("it concerns no known partition")


def _groups(lines: Sequence[Line]) -> Iterator[RenderableType]:
    """Yield the partitions grouped by fate, reason and basis, so that a reason appears once."""
    groups: dict[tuple[Fate, str, Basis], list[Line]] = {}
    for each in lines:
        groups.setdefault((each.fate, each.why, each.basis), []).append(each)
    for (fate, why, basis), group in groups.items():
        head = Text("\n", overflow="fold")
        head.append(fate, style=_STYLE[fate])
        head.append(f": {why} (from {_BASIS[basis]})")
        yield head
        yield _table(group)


def _table(lines: Sequence[Line]) -> Table:
    table = listing("  partition", "directory", "replicas", "isr", "min isr")
    for each in lines:
        table.add_row(
            Text(f"  {each.at}"),
            Text(each.path or "not known"),
            _ids(each.replicas),
            _ids(each.isr),
            "?" if each.min_isr is None else str(each.min_isr),
        )
    return table


def _directory(one: Prediction) -> Text:
    line = Text("  ", overflow="fold")
    line.append(f"{one.log_dir}", style="bold")
    line.append(": ")
    found = [(fate, count) for fate, count in one.counts.items() if count]
    for position, (fate, count) in enumerate(found):
        line.append(f"{', ' if position else ''}{count} {fate}", style=_STYLE[fate])
    if not found:
        line.append("concerns no partition")
    if one.halts:
        line.append("; the broker would halt", style="bold red")
    elif one.halts is None:
        line.append("; the broker may halt", style="bold magenta")
    return line


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "none"
