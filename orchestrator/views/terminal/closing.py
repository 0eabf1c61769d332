"""The closing table: the course of every broker's latest registration, with offsets and times."""

from rich.console import Group, RenderableType
from rich.text import Text

from migration.image.summary import BrokerSummary, ClusterSummary
from migration.metadata.events import Event
from migration.values.durations import duration_text
from orchestrator.output.event_text import sentence
from orchestrator.output.formatting import local_time, moment_text, zone_text
from orchestrator.views.terminal.blocks import bare_table


def closing(summary: ClusterSummary) -> RenderableType:
    """Return the table; its times are those of the records, in the zone that the title names."""
    head = Text(summary.cluster, style="bold")
    if summary.metadata_offset is None:
        return head.append("  phase unknown: no record was read", style="bold yellow")
    head.append(f"  phase {summary.phase}", style="bold cyan")
    head.append(
        f"  metadata offset {summary.metadata_offset}  topics {summary.topics}"
        f"  partitions {summary.partitions}",
        style="not bold",
    )
    if summary.observed_ms is not None:
        head.append(f"  at {moment_text(summary.observed_ms)}", style="dim")
        head.append(f"  times in {zone_text(summary.observed_ms)}", style="dim")
    table = bare_table()
    for name in ("id", "registered", "unfenced", "complete", "unfenced early", "held for"):
        table.add_column(name, justify="right" if name == "id" else "left", overflow="fold")
    for broker in summary.brokers:
        table.add_row(*_cells(broker))
    if not summary.brokers:
        return Group(head, Text("no broker is registered", style="dim"))
    return Group(head, Text(""), table)


def event_line(event: Event) -> str:
    """Return an event as one line: its time, its offset and its sentence."""
    at = "-" if event.moment_ms is None else moment_text(event.moment_ms)
    place = "" if event.offset is None else f"@{event.offset}  "
    return f"{at}  {place}{sentence(event)}"


def early_text(broker: BrokerSummary) -> str:
    """Return how early Kafka unfenced the broker: `32 pending for 70 ms`; `no` if it did not."""
    early = broker.unfenced_early
    if early is None:
        return "no"
    if early.duration_ms is not None:
        return f"{early.pending} pending for {duration_text(early.duration_ms)}"
    return f"{early.pending} pending" + (", still" if broker.is_unfenced_early else "")


def held_text(broker: BrokerSummary) -> str:
    """Return how long the broker was held: from its first registration to the completing record."""
    if broker.held:
        return "still held"
    since_ms = broker.held_since_ms
    if since_ms is None or broker.assignments_complete_ms is None:
        return "-"
    return duration_text(broker.assignments_complete_ms - since_ms)


def _cells(broker: BrokerSummary) -> tuple[Text, ...]:
    early = Text(early_text(broker), style="magenta" if broker.unfenced_early else "dim")
    return (
        Text(str(broker.id), style="bold"),
        Text(_moment(broker.registered_ms, broker.registered_offset)),
        Text(_moment(broker.unfenced_ms, broker.unfenced_offset)),
        Text(_moment(broker.assignments_complete_ms, broker.assignments_complete_offset)),
        early,
        Text(held_text(broker), style="bold yellow" if broker.held else ""),
    )


def _moment(timestamp_ms: int | None, offset: int | None) -> str:
    parts = []
    if timestamp_ms is not None:
        parts.append(f"{local_time(timestamp_ms)}.{timestamp_ms % 1000:03d}")
    if offset is not None:
        parts.append(f"@{offset}")
    return " ".join(parts) or "-"
