"""A plan of moves between log directories, and how far its moves are."""

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from migration.moves.planner import Move
from migration.moves.steps import Measured, Step
from migration.moves.verify import Progress, Verified
from orchestrator.api.moves import Planned
from orchestrator.output.formatting import bytes_or_unknown, short_age, short_bytes
from orchestrator.output.printing import echo
from orchestrator.views.terminal.blocks import SHOWN_MAX, left_out, listing, notes_of

_BAR: Final = 30
_RATED_S: Final = 30.0
_LINE_EVERY_S: Final = 10.0
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
    parts += left_out(found.moves)
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
    table = listing("partition", "broker", "progress", "directory", "target", "lag")
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
    why = dict.fromkeys(f"{each.at}: {each.why}" for each in ordered[:SHOWN_MAX] if each.why)
    return Group(head, Text(""), table, *left_out(found), *notes_of(why))


class MovesView:
    """Shows moves that run: one line with a bar on a terminal, else a line at times.

    Args:
        live: the terminal; None: lines are printed.
    """

    def __init__(self, cluster: str, live: Console | None) -> None:
        self._cluster = cluster
        self._live = None if live is None else Live(console=live, auto_refresh=False)
        self._samples: deque[tuple[float, int]] = deque()
        self._printed: tuple[object, float] = (None, 0.0)
        self._is_gone = False

    def __enter__(self) -> "MovesView":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last line on the terminal."""
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()

    def show(self, done: Measured, step: Step, stalled: Sequence[str]) -> None:
        """Show how far the moves are; an output without a reader does not end them.

        `stalled`: the brokers whose copies do not go on, a sentence each.
        """
        if self._is_gone:
            return
        try:
            self._show(done, step, stalled)
        except OSError:  # a closed pipe, or a terminal that hung up
            self._is_gone = True

    def _show(self, done: Measured, step: Step, stalled: Sequence[str]) -> None:
        now_s = time.monotonic()
        self._samples.append((now_s, done.bytes))
        while now_s - self._samples[0][0] > _RATED_S:
            self._samples.popleft()
        rate = _rate(self._samples)
        if self._live is not None:
            bar = Text(f"{_bar(done)} {moving_line(self._cluster, done, step, rate)}", no_wrap=True)
            self._live.update(Group(bar, *map(Text, stalled)), refresh=True)
            return
        line = moving_line(self._cluster, done, step, rate, stalled)
        key = done.completed, tuple(step.silent), len(stalled)
        if key != self._printed[0] or now_s - self._printed[1] >= _LINE_EVERY_S:
            self._printed = key, now_s
            echo(line)


def moving_line(
    cluster: str, done: Measured, step: Step, rate: float | None, stalled: Sequence[str] = ()
) -> str:
    """Return how many replicas have arrived, how much is copied, its rate, and the time left."""
    parts = [
        f"{cluster}: {done.completed} of {done.count} replicas",
        f"{short_bytes(done.bytes)} of {short_bytes(done.bytes_total)}",
    ]
    left = done.bytes_total - done.bytes
    if rate and left:
        seconds = max(left / rate, done.seconds_min)
        parts += [f"{short_bytes(round(rate))}/s", f"{short_age(seconds * 1000)} left"]
    elif left:
        parts.append("no rate yet")
    parts += [f"broker {id_} does not answer: {why}" for id_, why in step.silent.items()]
    return ", ".join([*parts, *stalled])


def _rate(samples: Sequence[tuple[float, int]]) -> float | None:
    """Return bytes per second; None: nothing was copied. A replica that shrinks counts as 0."""
    (from_s, before), (to_s, now) = samples[0], samples[-1]
    return (now - before) / (to_s - from_s) if now > before and to_s > from_s else None


def _bar(done: Measured) -> str:
    by_bytes = done.bytes_total > 0
    part, whole = (done.bytes, done.bytes_total) if by_bytes else (done.completed, done.count)
    share = part / whole if whole else 1.0
    full = int(share * _BAR)
    return f"[{'#' * full}{'-' * (_BAR - full)}]"


def _brokers(found: Planned) -> Table:
    table = listing("broker", "moves", "bytes", "throttle", "time")
    for id_, duration in sorted(found.seconds.items()):
        moves, rate = found.moves_of(id_), found.rates.get(id_)
        table.add_row(
            str(id_),
            str(len(moves)),
            short_bytes(sum(each.bytes for each in moves)),
            "none known" if rate is None else f"{short_bytes(rate)}/s",
            "?" if duration is None else short_age(duration * 1000),
        )
    return table


def _destinations(found: Planned) -> Table:
    table = listing("broker", "destination", "free before", "free after")
    for each in found.space:
        style = "bold red" if each.after is not None and each.after < 0 else ""
        table.add_row(
            str(each.broker),
            Text(each.path),
            bytes_or_unknown(each.before),
            Text(bytes_or_unknown(each.after), style=style),
        )
    return table


def _moves(moves: Sequence[Move]) -> Table:
    table = listing("partition", "broker", "from", "to", "size")
    for each in moves:
        table.add_row(
            Text(str(each.at)),
            str(each.broker),
            Text(each.source),
            Text(each.target),
            short_bytes(each.bytes),
        )
    return table


def _words(progress: Progress) -> str:
    return progress.replace("_", " ")
