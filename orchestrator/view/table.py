"""One cluster on a terminal: header, phases, a row per broker, the latest events, the wait.

`render` is a pure function of what is known, the time and the space; it draws what fits. The line
that names what is being waited for is always there, and when brokers do not all fit, those that
are not in order come first and the rest is counted.
"""

import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from migration.event import Event
from migration.hazards import Severity, hazards
from migration.rates import Eta, NoEstimate, cluster_eta
from migration.source_status import SourceStatus, behind, is_current, is_silent, stale_ms
from migration.summary import WAY, ClusterSummary, Phase
from migration.wait import Wait, WaitKind
from migration.waits import headline, is_log_over
from orchestrator.view.bars import legend
from orchestrator.view.rows import broker_table, most_urgent_first
from orchestrator.view.walk import walk_lines
from orchestrator.view.words import clock, event_fields, pairs, short_age
from orchestrator.walk.told import WalkTold

_HAZARDS_MAX: Final = 3
_EVENTS_MAX: Final = 12
_EVENTS_MIN: Final = 3
_FRAME_LINES: Final = 5
"""The table's head, the legend, the title of the events, two blank lines."""
_ROOM_MIN: Final = 6
"""With fewer lines for brokers and events only title, brokers and the wait are drawn."""
_NO_LIMIT: Final = 10_000


def render(
    summary: ClusterSummary,
    events: Sequence[tuple[int, Event]],
    reasons: tuple[Wait, ...],
    status: SourceStatus,
    now_ms: int,
    width: int,
    height: int | None = None,
    limits: Sequence[str] = (),
    *,
    etas: Mapping[int, Eta],
    walk: WalkTold | None = None,
) -> RenderableType:
    """Draw one cluster, at most `width` columns wide and, if given, `height` lines high.

    `limits`: what its sources do not see, in their own words. `etas`: of the held brokers.
    """
    title = _wrapped(_title(summary, status, now_ms), width)
    steps, facts = _steps(summary.phase, width), _wrapped(_facts(summary, status), width)
    waiting = [
        *_hazards(summary, now_ms, width),
        *_limits(limits, width),
        *(walk_lines(walk, width) if walk is not None else ()),
        *(() if _is_walked(walk) and not reasons else _waiting(summary, reasons, etas, width)),
    ]
    frame = len(title) + len(steps) + len(facts) + len(waiting) + _FRAME_LINES
    room = _NO_LIMIT if height is None else height - frame
    if room < _ROOM_MIN:
        room = (_NO_LIMIT if height is None else height) - len(title) - len(waiting) - 2
        return Group(*title, *_brokers(summary, etas, now_ms, width, max(0, room)), *waiting)
    rows = room if len(summary.brokers) <= room else room - _EVENTS_MIN - 1
    body = _brokers(summary, etas, now_ms, width, rows)
    left = room - min(len(summary.brokers), rows) - (1 if len(summary.brokers) > rows else 0)
    latest = events[-min(_EVENTS_MAX, left) :] if left > 0 else ()
    parts: list[RenderableType] = [*title, *steps, *facts, Text(""), *body]
    if summary.brokers:
        parts.append(_legend(summary, width))
    if latest:
        parts.append(Text("latest events", style="bold"))
        parts.extend(_event_lines(latest, width))
    return Group(*parts, Text(""), *waiting)


def _is_walked(walk: WalkTold | None) -> bool:
    """Whether a runbook says what is waited for."""
    return walk is not None and walk.outcome is None


def _brokers(
    summary: ClusterSummary, etas: Mapping[int, Eta], now_ms: int, width: int, rows: int
) -> list[RenderableType]:
    """A table of at most so many rows and, when brokers are left out, a line that counts them."""
    if not summary.brokers:
        return [Text("no broker is known yet", style="dim")]
    shown = most_urgent_first(summary.brokers)[:rows]
    parts: list[RenderableType] = []
    if shown:
        by_id = sorted(shown, key=lambda broker: broker.id)
        parts.append(broker_table(by_id, etas, now_ms, width))
    if len(shown) < len(summary.brokers):
        count = f"and {len(summary.brokers) - len(shown)} more brokers, none more urgent"
        parts.append(Text(count[:width], style="dim"))
    return parts


def _legend(summary: ClusterSummary, width: int) -> Text:
    told = legend()
    if any(broker.unfenced_early is not None for broker in summary.brokers):
        told.append("  ! unfenced early", style="magenta")
    told.truncate(width, overflow="ellipsis")
    return told


def _title(summary: ClusterSummary, status: SourceStatus, now_ms: int) -> Text:
    title = Text()
    title.append(summary.cluster, style="bold")
    title.append(f"  phase {summary.phase}", style="bold cyan")
    age = stale_ms(status, now_ms)
    if status.error is not None:
        title.append("  SOURCE ERROR", style="bold red")
    elif status.finished:
        title.append("  read to its end")
    elif age is None:
        title.append("  no data yet", style="bold red")
    elif is_current(status, now_ms):
        title.append(f"  data {short_age(age)} old", style="green")
    elif is_log_over(summary) and not is_silent(status, now_ms):
        title.append("  the metadata log is over", style="bold")
    else:
        title.append(f"  STALE: data {short_age(age)} old", style="bold red")
    return title


def _steps(phase: Phase, width: int) -> list[Text]:
    """The phases as a line of steps; a phase beside the way stands alone."""
    if phase not in WAY:
        return [Text(f"[{phase}]"[:width], style="bold reverse")]
    reached = WAY.index(phase)
    line = Text(overflow="fold")
    for position, step in enumerate(WAY):
        if position:
            line.append(" > ", style="dim")
        if position == reached:
            line.append(f"[{step}]", style="bold reverse")
        else:
            line.append(step, style="green" if position < reached else "dim")
    return _wrapped(line, width)


def _facts(summary: ClusterSummary, status: SourceStatus) -> Text:
    offset = "-" if summary.metadata_offset is None else str(summary.metadata_offset)
    unread = behind(status, summary.metadata_offset)
    controller = summary.active_controller
    if status.active_controller is not None:
        controller = status.active_controller
    epoch = status.leader_epoch if status.leader_epoch is not None else summary.leader_epoch
    facts = [
        f"metadata offset {offset}" + (f" ({unread} behind)" if unread else ""),
        f"active controller {'-' if controller is None else controller}",
        f"epoch {'-' if epoch is None else epoch}",
        f"topics {summary.topics}",
        f"partitions {summary.partitions}",
    ]
    if summary.unknown_records:
        facts.append(f"unknown records {summary.unknown_records}")
    return Text("  ".join(facts))


def _event_lines(events: Sequence[tuple[int, Event]], width: int) -> list[Text]:
    lines = []
    for _, event in events:
        fields = {k: v for k, v in event_fields(event).items() if k not in {"at", "kind"}}
        moment = event.moment_ms
        at = "-" if moment is None else clock(moment)
        line = Text(f"{at} ", style="dim", no_wrap=True)
        line.append(event.kind, style="bold not dim")
        line.append(f" {pairs(fields)}", style="not dim")
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return lines


def _hazards(summary: ClusterSummary, now_ms: int, width: int) -> list[Text]:
    """The gravest ones, a line each, and how many more there are."""
    found = [each for each in hazards(summary, now_ms) if each.severity is Severity.CRITICAL]
    lines = []
    for each in found[:_HAZARDS_MAX]:
        line = Text(f"HAZARD {each.text}", style="bold red", no_wrap=True)
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    if len(found) > _HAZARDS_MAX:
        more = f"and {len(found) - _HAZARDS_MAX} more: kraftgate hazards"
        lines.append(Text(more[:width], style="bold red"))
    return lines


def _limits(limits: Sequence[str], width: int) -> list[Text]:
    lines = []
    for each in limits:
        line = Text(f"LIMIT {each}", style="yellow", no_wrap=True)
        line.truncate(width, overflow="ellipsis")
        lines.append(line)
    return lines


def _waiting(
    summary: ClusterSummary, reasons: tuple[Wait, ...], etas: Mapping[int, Eta], width: int
) -> list[Text]:
    """The one sentence that is always there, over as many lines as it needs."""
    style = "bold green"
    if reasons:
        urgent = reasons[0].kind in {WaitKind.BROKER_STALLED, WaitKind.SOURCE_ERROR}
        style = "bold red" if urgent else "bold yellow"
    sentence = f"waiting for: {headline(summary, reasons)}"
    held = bool(reasons) and reasons[0].kind in {WaitKind.BROKER_HELD, WaitKind.BROKER_STALLED}
    eta = cluster_eta(summary, etas) if held else None
    if eta is not None and not isinstance(eta, NoEstimate):
        between = f"{short_age(eta.low * 1000)} to {short_age(eta.high * 1000)}"
        about = f"{short_age(eta.seconds * 1000)}, {between}"
        sentence += f"; nothing held in about {about} ({eta.how})"
    return [Text(line, style=style) for line in textwrap.wrap(sentence, width)]


def _wrapped(text: Text, width: int) -> list[Text]:
    """Break a text into lines of at most this width, keeping its styles."""
    return list(text.wrap(Console(width=width), width, overflow="fold"))


def save_svg(renderable: RenderableType, path: Path, *, width: int = 100, title: str = "") -> None:
    """Write a picture of what a terminal of this width would show."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(renderable)
    console.save_svg(str(path), title=title or "kraftgate run")
