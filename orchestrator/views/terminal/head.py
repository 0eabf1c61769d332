"""The top of the screen: the cluster, its phase, its facts, and how current the sources are."""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.text import Text

from migration.assessment.currency import LogData, SourceCurrency, SourceState
from migration.assessment.data_source import DataSource
from migration.image.summary import WAY, WITHOUT_ZOOKEEPER, Phase
from migration.observed.source_status import NO_STATUS, behind, stale_ms
from orchestrator.output.formatting import local_time, short_age
from orchestrator.run.assessed import Assessed
from orchestrator.views.terminal.blocks import text


def title(one: Assessed) -> Text:
    """Return the cluster's name, its phase, and the age of the metadata log's data."""
    line = text(one.name, "bold")
    line.append(f"  phase {one.summary.known_phase or 'unknown'}", style="bold cyan")
    age_ms = stale_ms(one.assessment.log.status, one.now_ms)
    age = "no answer yet" if age_ms is None else f"data {short_age(age_ms)} old"
    words, style = _LOG_DATA[one.assessment.log_data]
    line.append(f"  {words.format(age)}", style=style)
    return line


_LOG_DATA: Final[Mapping[LogData, tuple[str, str]]] = {
    "source_error": ("SOURCE ERROR", "bold red"),
    "finished": ("read to its end", ""),
    "current": ("{}", "green"),
    "reading": ("{}, NOT READ TO ITS END", "bold yellow"),
    "over": ("the metadata log is over", "bold"),
    "no_data": ("no data yet", "bold red"),
    "stale": ("STALE: {}", "bold red"),
}


def steps(phase: Phase | None, width: int) -> Text:
    """Return the phases as a line of steps; a phase outside that order alone; None: unknown."""
    if phase is not None and phase not in WAY:
        return Text(f"[{phase}]"[:width], style="bold reverse")
    reached = -1 if phase is None else WAY.index(phase)
    line = Text()
    for position, step in enumerate(WAY):
        if position:
            line.append(" > ", style="dim")
        if position == reached:
            line.append(f"[{step}]", style="bold reverse")
        else:
            line.append(step, style="green" if position < reached else "dim")
    return line


def facts(one: Assessed) -> Text:
    summary = one.summary
    unread = behind(one.read.status, summary.metadata_offset)
    known = one.assessment.knows_partitions
    numbers = [
        f"metadata offset {_or_dash(summary.metadata_offset)}"
        + (f" ({unread} behind)" if unread else ""),
        f"active controller {_or_dash(one.assessment.view.active_controller)}",
        f"epoch {_or_dash(one.leader_epoch)}",
        f"topics {_or_dash(summary.topics if known else None)}",
        f"partitions {_or_dash(summary.partitions if known else None)}",
    ]
    if summary.unknown_records:
        numbers.append(f"unknown records {summary.unknown_records}")
    return Text("  ".join(numbers))


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)


def sources(one: Assessed) -> Text | None:
    """Return how current the sources other than the metadata log are; None: there are none."""
    return Text("  ").join(text(words, style) for words, style in _sources(one)) or None


def _sources(one: Assessed) -> Iterator[tuple[str, str]]:
    for name, source in (
        ("ZooKeeper", DataSource.ZOOKEEPER),
        ("disks", DataSource.LOG_DIRS),
        ("JMX", DataSource.JMX),
    ):
        found = one.assessment.sources[source]
        removed = source is DataSource.JMX and found.state is SourceState.NOT_CONFIGURED
        if removed or found.status == NO_STATUS:
            continue
        beside = _zookeeper(one, found) if source is DataSource.ZOOKEEPER else None
        yield beside or _source(name, found, one.now_ms)


def _zookeeper(one: Assessed, found: SourceCurrency) -> tuple[str, str] | None:
    """Return a state that only ZooKeeper has: unreachable or no longer in use; None: neither."""
    seen = one.summary.zookeeper
    since_ms = None if seen is None else seen.blind_since_ms
    if one.summary.phase in WITHOUT_ZOOKEEPER and found.state is not SourceState.CURRENT:
        return "ZooKeeper not in use", "dim"
    if since_ms is None or found.state is SourceState.ERROR:
        return None
    return f"ZooKeeper UNREACHABLE since {local_time(since_ms)}", "bold red"


def _source(name: str, found: SourceCurrency, now_ms: int) -> tuple[str, str]:
    age = stale_ms(found.status, now_ms)
    if found.state is SourceState.ERROR:
        return f"{name} NOT FOLLOWED", "bold red"
    if age is None:
        return f"{name} no answer yet", "yellow"
    if found.state is SourceState.CURRENT:
        return f"{name} {short_age(age)} old", "green"
    if found.answers:
        return f"{name} {short_age(age)} old, NOT CURRENT", "bold yellow"
    return f"{name} STALE: {short_age(age)} old", "bold red"
