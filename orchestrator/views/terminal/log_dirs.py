"""The brokers' log directories: their contents, their ids, and the replicas in them."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from migration.observed.log_dirs import LogDirState
from orchestrator.api.log_dirs import BrokerLogDirsRow, LogDirRow, LogDirsRow, ReplicaRow
from orchestrator.output.formatting import short_bytes
from orchestrator.views.terminal.blocks import bare_table

SHOWN_MAX: Final = 50
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
    if len(replicas) > SHOWN_MAX:
        parts.append(Text(f"and {len(replicas) - SHOWN_MAX} more: see --json", style="bold"))
    if row.notes:
        parts.append(Text(""))
        parts += [Text(f"note: {each}", overflow="fold") for each in row.notes]
    return Group(*parts)


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
    table = bare_table(gap=2)
    for name in ("broker", "directory", "state"):
        table.add_column(name, overflow="fold")
    for name in ("replicas", "size", "future", "free", "volume"):
        table.add_column(name, justify="right", overflow="fold")
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
            _size(each.usable_bytes),
            _size(each.total_bytes),
        )
    return table


def _ids(row: LogDirsRow) -> Table:
    table = bare_table(gap=2)
    for name in ("broker", "directory", "id", "known by"):
        table.add_column(name, overflow="fold")
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


def _size(size: int | None) -> str:
    return "?" if size is None else short_bytes(size)


def _replicas(row: LogDirsRow) -> Iterator[_Placed]:
    for broker, each in _log_dirs(row):
        for replica in each.partitions or ():
            yield broker, each, replica


def _replica_table(replicas: Iterable[_Placed]) -> Table:
    table = bare_table(gap=2)
    table.add_column("partition", overflow="fold")
    table.add_column("broker", overflow="fold")
    table.add_column("directory", overflow="fold")
    table.add_column("replica", overflow="fold")
    table.add_column("size", justify="right", overflow="fold")
    table.add_column("lag", justify="right", overflow="fold")
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
