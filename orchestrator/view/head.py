"""The top of the screen: the cluster, its phase, what is known of it, and how current that is."""

from collections.abc import Iterator

from rich.text import Text

from migration.source_status import (
    NO_STATUS,
    SourceStatus,
    behind,
    is_current,
    is_silent,
    stale_ms,
)
from migration.summary import WAY, ClusterSummary, Phase
from migration.timestamps import time_text
from migration.waits import is_log_over
from orchestrator.following import Snapshot
from orchestrator.view.blocks import text
from orchestrator.view.words import short_age


def title(summary: ClusterSummary, status: SourceStatus, now_ms: int) -> Text:
    """The cluster's name, its phase, and how old the metadata log's data is."""
    line = text(summary.cluster, "bold")
    line.append(f"  phase {summary.phase}", style="bold cyan")
    age = stale_ms(status, now_ms)
    if status.error is not None:
        line.append("  SOURCE ERROR", style="bold red")
    elif status.finished:
        line.append("  read to its end")
    elif age is None:
        line.append("  no data yet", style="bold red")
    elif is_current(status, now_ms):
        line.append(f"  data {short_age(age)} old", style="green")
    elif is_log_over(summary) and not is_silent(status, now_ms):
        line.append("  the metadata log is over", style="bold")
    else:
        line.append(f"  STALE: data {short_age(age)} old", style="bold red")
    return line


def steps(phase: Phase, width: int) -> Text:
    """The phases as a line of steps; a phase beside the way stands alone."""
    if phase not in WAY:
        return Text(f"[{phase}]"[:width], style="bold reverse")
    reached = WAY.index(phase)
    line = Text()
    for position, step in enumerate(WAY):
        if position:
            line.append(" > ", style="dim")
        if position == reached:
            line.append(f"[{step}]", style="bold reverse")
        else:
            line.append(step, style="green" if position < reached else "dim")
    return line


def facts(summary: ClusterSummary, status: SourceStatus) -> Text:
    """Numbers of the metadata log."""
    offset = "-" if summary.metadata_offset is None else str(summary.metadata_offset)
    unread = behind(status, summary.metadata_offset)
    controller = summary.active_controller
    if status.active_controller is not None:
        controller = status.active_controller
    epoch = status.leader_epoch if status.leader_epoch is not None else summary.leader_epoch
    told = [
        f"metadata offset {offset}" + (f" ({unread} behind)" if unread else ""),
        f"active controller {'-' if controller is None else controller}",
        f"epoch {'-' if epoch is None else epoch}",
        f"topics {summary.topics}",
        f"partitions {summary.partitions}",
    ]
    if summary.unknown_records:
        told.append(f"unknown records {summary.unknown_records}")
    return Text("  ".join(told))


def sources(one: Snapshot, now_ms: int) -> Text | None:
    """How current what is seen beside the metadata log is; None: nothing is followed beside it."""
    line = Text()
    for words, style in _sources(one, now_ms):
        line.append("  " if line else "")
        line.append_text(text(words, style))
    return line or None


def _sources(one: Snapshot, now_ms: int) -> Iterator[tuple[str, str]]:
    seen = one.summary.zookeeper
    for name, status in (("ZooKeeper", one.zookeeper), ("disks", one.log_dirs), ("JMX", one.jmx)):
        if status == NO_STATUS:
            continue
        age = stale_ms(status, now_ms)
        if status.error is not None:
            yield f"{name} NOT FOLLOWED", "bold red"
        elif name == "ZooKeeper" and seen is not None and seen.blind_since_ms is not None:
            yield f"{name} NOT SEEN since {time_text(seen.blind_since_ms)[:8]}", "bold red"
        elif age is None:
            yield f"{name} no answer yet", "yellow"
        elif is_current(status, now_ms):
            yield f"{name} {short_age(age)} old", "green"
        else:
            yield f"{name} STALE: {short_age(age)} old", "bold red"
