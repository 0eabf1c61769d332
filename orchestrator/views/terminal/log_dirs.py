"""The brokers' log directories: their contents, their ids, and the replicas in them."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from migration.observed.log_dirs import LogDirState
from orchestrator.api.log_dirs import BrokerLogDirsRow, LogDirRow, LogDirsRow, ReplicaRow
from orchestrator.output.formatting import bytes_or_unknown, short_bytes
from orchestrator.views.terminal.blocks import SHOWN_MAX, left_out, listing, notes_of

_STYLE: Final = {
    LogDirState.ONLINE: "green",
    LogDirState.OFFLINE: "bold red",
    LogDirState.UNKNOWN: "bold magenta",
}
_Placed: TypeAlias = tuple[BrokerLogDirsRow, LogDirRow, ReplicaRow]


def picture(row: LogDirsRow) -> RenderableType:
    """Return the directories, and at most `SHOWN_MAX` replicas: first the future ones."""
    parts: list[RenderableType] = [_head(row), Text(""), _contents(row), Text(""), _ids(row)]
    replicas = sorted(_replicas(row), key=lambda each: not each[2].future)
    missing = [Text(each, style=_STYLE[LogDirState.UNKNOWN]) for each in row.missing()]
    parts += [Text(""), *missing] if missing else []
    if replicas:
        parts += [Text(""), _replica_table(replicas[:SHOWN_MAX])]
    return Group(*parts, *left_out(replicas), *notes_of(row.notes))


def _head(row: LogDirsRow) -> Text:
    head = Text(overflow="fold")
    head.append(row.cluster, style="bold")
    found = [each for _, each in _log_dirs(row)]
    head.append(f"  brokers: {len(row.brokers)}, log directories: {len(found)}")
    for state in (LogDirState.OFFLINE, LogDirState.UNKNOWN):
        count = sum(each.state is state for each in found)
        if count:
            head.append(f", {state}: {count}", style=_STYLE[state])
    moving = sum(len(each.futures) for each in found)
    if moving:
        head.append(f", replicas that move between directories: {moving}", style="bold yellow")
    return head


def _contents(row: LogDirsRow) -> Table:
    numbers = ("replicas", "size", "future", "free", "volume")
    table = listing("broker", "directory", "state", right=numbers)
    for broker, each in _log_dirs(row):
        counts = ("?", "?", "?")
        if each.partitions is not None:
            size = short_bytes(sum(one.bytes for one in each.current))
            counts = (str(len(each.current)), size, _futures(each))
        table.add_row(
            str(broker.id),
            Text(each.path),
            Text(each.state, style=_STYLE[each.state]),
            *counts,
            bytes_or_unknown(each.usable_bytes),
            bytes_or_unknown(each.total_bytes),
        )
    return table


def _ids(row: LogDirsRow) -> Table:
    table = listing("broker", "directory", "id", "known by")
    for broker, each in _log_dirs(row):
        known_by = each.directory_known_by
        id_ = each.directory or ("unknown" if known_by is None else "none")
        table.add_row(str(broker.id), Text(each.path), Text(id_), known_by or "")
    return table


def _log_dirs(row: LogDirsRow) -> Iterator[tuple[BrokerLogDirsRow, LogDirRow]]:
    for broker in row.brokers:
        for each in broker.log_dirs:
            yield broker, each


def _futures(row: LogDirRow) -> str:
    if not row.futures:
        return "0"
    return f"{len(row.futures)}, {short_bytes(sum(each.bytes for each in row.futures))}"


def _replicas(row: LogDirsRow) -> Iterator[_Placed]:
    for broker, each in _log_dirs(row):
        for replica in each.partitions or ():
            yield broker, each, replica


def _replica_table(replicas: Iterable[_Placed]) -> Table:
    table = listing("partition", "broker", "directory", "replica", right=("size", "lag"))
    for broker, log_dir, each in replicas:
        table.add_row(
            Text(f"{each.topic}-{each.partition}"),
            str(broker.id),
            Text(log_dir.path),
            Text("future", style="bold yellow") if each.future else Text("current"),
            short_bytes(each.bytes),
            "?" if each.lag is None else str(each.lag),
        )
    return table
