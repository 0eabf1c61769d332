"""One row per broker, in a table over the whole width: the bar gets the remaining columns.

A bar has one letter per state, so that it needs no colour.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from migration.assessment.assess import Assessment
from migration.assessment.eta import Eta, NoEstimate, rate_per_second
from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState
from migration.values.durations import duration_text
from orchestrator.output.formatting import short_age, short_rate
from orchestrator.run.assessed import urgency
from orchestrator.views.terminal.blocks import bare_table

LETTERS: Final = {
    ReplicaState.ASSIGNED: ("A", "black on green"),
    ReplicaState.MIGRATING: ("M", "black on yellow"),
    ReplicaState.UNASSIGNED: ("U", "black on bright_yellow"),
    ReplicaState.OFFLINE: ("O", "white on red"),
    ReplicaState.LOST: ("L", "white on bright_red"),
}
"""In the order of the bar: from the left, the replicas that have a directory."""


def cells(replicas: Mapping[ReplicaState, int], width: int) -> dict[ReplicaState, int]:
    """Return the number of cells of each state: in proportion, at least one if the state occurs.

    The sum is `width` if there is a replica. If `width` is below the number of states that occur,
    the last states are left out.
    """
    present = [state for state in LETTERS if replicas[state] > 0][:width]
    total = sum(replicas[state] for state in present)
    if not present or total == 0:
        return {}
    spare = width - len(present)
    shares = {state: replicas[state] * spare / total for state in present}
    given = {state: 1 + int(share) for state, share in shares.items()}
    by_rest = sorted(present, key=lambda state: shares[state] % 1, reverse=True)
    for state in by_rest[: width - sum(given.values())]:
        given[state] += 1
    return given


def bar(replicas: Mapping[ReplicaState, int], width: int) -> Text:
    """Return the bar; for a broker without replicas, the text `no replicas`."""
    drawn = Text(no_wrap=True)
    for state, count in cells(replicas, width).items():
        letter, style = LETTERS[state]
        drawn.append(letter * count, style=style)
    if not drawn:
        drawn.append("no replicas"[:width].ljust(width), style="dim")
    return drawn


def legend() -> Text:
    """Return the meanings of the letters."""
    line = Text()
    for state, (letter, style) in LETTERS.items():
        line.append(letter, style=style)
        line.append(f" {state}  ", style="dim")
    line.rstrip()
    return line


_BAR_MIN: Final = 6
_BAR_MAX: Final = 60
_MODE_STYLE: Final = {Mode.ZOOKEEPER: "dim", Mode.MIGRATING: "yellow", Mode.KRAFT: "green"}
_WIDE: Final = 76
"""Below this width, the columns rate and last (time since the last progress) are dropped."""
_ROOMY: Final = 100
"""From this width on, an ETA is shown with its interval."""


def most_urgent_first(brokers: Sequence[BrokerSummary]) -> list[BrokerSummary]:
    """Return the brokers by urgency, then by id."""
    return sorted(brokers, key=lambda broker: (urgency(broker), broker.id))


def broker_table(assessment: Assessment, brokers: Sequence[BrokerSummary], width: int) -> Table:
    """Return the rows of these brokers."""
    wide = width >= _WIDE
    heads = ["id", "mode", "state", "hold", "pending", "rate", "ETA", "last", "replicas"]
    columns = [
        _cells(
            broker,
            _counted(assessment, broker),
            eta_text(assessment.etas.get(broker.id), roomy=width >= _ROOMY),
            assessment.now_ms,
        )
        for broker in brokers
    ]
    kept = [i for i, head in enumerate(heads[:-1]) if wide or head not in {"rate", "last"}]
    used = sum(max(len(heads[i]), *(row[i].cell_len for row in columns)) + 1 for i in kept)
    bar_width = max(_BAR_MIN, min(_BAR_MAX, width - used))
    table = bare_table()
    for i in (*kept, len(heads) - 1):
        number = heads[i] in {"id", "pending", "rate", "ETA", "last"}
        table.add_column(heads[i], no_wrap=True, justify="right" if number else "left")
    for broker, row in zip(brokers, columns, strict=True):
        table.add_row(*(row[i] for i in kept), _bar(assessment, broker, bar_width))
    return table


def eta_text(eta: Eta | None, *, roomy: bool) -> str:
    """Return an estimate in at most six characters, with its interval in at most 21; `-`: none."""
    if eta is None or isinstance(eta, NoEstimate):
        return "-"
    about = short_age(eta.seconds * 1000)
    if not roomy:
        return about
    return f"{about} ({short_age(eta.low * 1000)}-{short_age(eta.high * 1000)})"


def was_early(brokers: Sequence[BrokerSummary]) -> str | None:
    """Return the brokers that were unfenced early, and for how long; None: none, or not over."""
    periods = [
        f"broker {each.id} for {duration_text(each.unfenced_early.duration_ms)}"
        for each in brokers
        if each.unfenced_early is not None and each.unfenced_early.duration_ms is not None
    ]
    return f"unfenced early: {', '.join(periods)}" if periods else None


def _counted(assessment: Assessment, broker: BrokerSummary) -> str:
    """Return pending and total replicas; `?` for a number that no source knows."""
    if assessment.counts(broker):
        return f"{broker.pending}/{sum(broker.replicas.values())}"
    total = assessment.summary.replicas_on_disk(broker.id)
    return "?" if total is None else f"?/{total}"


def _bar(assessment: Assessment, broker: BrokerSummary, width: int) -> Text:
    if assessment.counts(broker):
        return bar(broker.replicas, width)
    total = assessment.summary.replicas_on_disk(broker.id)
    words = "unknown" if total is None else f"{total} on disk"
    return Text(words[:width].ljust(width), style="dim", no_wrap=True)


def _cells(broker: BrokerSummary, counted: str, eta: str, now_ms: int) -> list[Text]:
    return [
        Text(str(broker.id), style="bold"),
        Text(str(broker.mode), style=_MODE_STYLE[broker.mode]),
        _state(broker),
        Text("HELD", style="bold black on yellow") if broker.held else Text("-", style="dim"),
        Text(counted),
        Text(short_rate(rate_per_second(broker))),
        Text(eta),
        Text(_since_progress(broker, now_ms)),
    ]


def _state(broker: BrokerSummary) -> Text:
    if broker.mode is Mode.ZOOKEEPER:
        return Text("-", style="dim")
    if broker.fenced:
        return Text("stopping" if broker.in_controlled_shutdown else "fenced", style="red")
    if broker.is_unfenced_early:
        return Text("unfenced early", style="bold magenta")
    return Text("unfenced", style="green")


def _since_progress(broker: BrokerSummary, now_ms: int) -> str:
    """Return the time since a held broker's last assignment, or else since its registration."""
    if not broker.held:
        return "-"
    since = broker.last_progress_ms
    return "-" if since is None else short_age(now_ms - since)
