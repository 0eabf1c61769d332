"""Keeps a view up to date while the clusters are polled, until it must stop.

`drive` ticks about four times a second and passes each tick to a view: `TableView` on a terminal,
`LineView` elsewhere. Ctrl-C and SIGTERM set a `Stop`; the same signal again interrupts at once.
"""

import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import IO, Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from migration.assessment.next_action import Need
from orchestrator.output.printing import forget_output, write_line
from orchestrator.output.rich_console import console
from orchestrator.process.logs import release
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.views.terminal.blocks import cut, share, text
from orchestrator.views.terminal.lines import changes
from orchestrator.views.terminal.table import Picture

_log: Final = logging.getLogger(__name__)
_EVERY_S: Final = 0.25
_END_S_MAX: Final = 60
"""Time for an orderly end, which takes 10 s while a batch waits; systemd kills after 90 s."""
_ROOMY: Final = 4
"""With fewer lines than this for each cluster, no empty lines separate the clusters."""


class Stop:
    """Is set by Ctrl-C, SIGTERM or SIGHUP while it is entered; then the view ends in good order.

    Args:
        overdue: Ends what the end has waited for, for `_END_S_MAX`. It is called by the main thread
            in the middle of the blocked call, and again each second.
    """

    def __init__(self, *, overdue: Callable[[], object] | None = None) -> None:
        # Released by `set`. Not an Event, whose lock may be held by the thread that a signal
        # interrupts, and no SimpleQueue: a wait that is over before it begins lasts for ever.
        self._bell = Lock()
        self._bell.acquire()
        self._is_set = False
        self._before: dict[int, object] = {}
        self._arrived: set[int] = set()
        under_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        self._numbers = [signal.SIGINT, signal.SIGTERM, *([] if under_nohup else [signal.SIGHUP])]
        self._overdue = overdue

    def __enter__(self) -> "Stop":
        for number in self._numbers:
            self._before[number] = signal.signal(number, self._on_signal)
        if (overdue := self._overdue) is not None:
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda *_: overdue())
        return self

    def __exit__(self, *_: object) -> None:
        if self._overdue is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from getsignal

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """End the view at the next tick."""
        self._is_set = True
        with suppress(RuntimeError):  # it was released before
            self._bell.release()

    def check(self) -> None:
        """Raise KeyboardInterrupt if it is set: there is no view yet that could end."""
        if self._is_set:
            raise KeyboardInterrupt

    def wait(self, seconds: float) -> bool:
        """Sleep until the time is over or the view must end; return whether it must."""
        if not self._is_set:
            self._bell.acquire(timeout=seconds)
        return self._is_set

    def _on_signal(self, number: int, _: object) -> None:
        if self._overdue is not None:
            signal.setitimer(signal.ITIMER_REAL, _END_S_MAX, 1)
        # A terminal that is closed, or a host that goes down, sends several signals at once.
        if number in self._arrived and number != signal.SIGHUP:
            raise KeyboardInterrupt
        self._arrived.add(number)
        self.set()


class View(Protocol):
    """Shows the ticks of all clusters."""

    def show(self, tick: Tick) -> None:
        """Update the view."""

    def close(self) -> None:
        """Stop the view and leave its last state on the output."""


class TableView:
    """Redraws the terminal on a change, on a new size, and once a second for the ages.

    `warning`: returns the last warning of the log, which the last line shows.
    """

    def __init__(self, console: Console, warning: Callable[[], str | None]) -> None:
        self._warning = warning
        self._console = console
        self._live = Live(
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._shown: object = None
        self._last: Tick | None = None
        self._is_lost = False

    def show(self, tick: Tick) -> None:
        """Redraw if the data, the second or the size of the terminal changed."""
        if self._is_lost:
            return
        try:
            self._show(tick)
        except OSError as error:
            self._is_lost = True
            _lost("the table is no longer drawn", error)

    def _show(self, tick: Tick) -> None:
        size = self._console.size
        warning = self._warning()
        key = (tuple(each.read for each in tick.clusters), tick.at_ms // 1000, size, warning)
        self._last = tick
        if key == self._shown:
            return
        self._shown = key
        height = size.height - (1 if warning else 0)
        screen = _screen(tick.clusters, size.width, height)
        if warning:
            screen = Group(screen, cut(text(f"LOG {warning}", "yellow"), size.width))
        self._live.update(screen, refresh=True)

    def close(self) -> None:
        """Leave the alternate screen and print the last state on the normal screen."""
        try:
            self._live.stop()
            if self._last is not None and not self._is_lost:
                width = self._console.width
                pictures = [Picture(one, width).draw() for one in self._last.clusters]
                self._console.print(Group(*_apart(pictures)), crop=False)
        except OSError as error:
            if not self._is_lost:
                _lost("the last state is not shown", error)


def _screen(clusters: Sequence[Assessed], width: int, height: int) -> RenderableType:
    """Return all clusters; if they do not fit, the most urgent ones and a count of the others."""
    pictures = [Picture(one, width) for one in clusters]
    room = height
    if sum(each.floor for each in pictures) > room:
        room -= 1
    shown = [pictures[at] for at in sorted(_most_urgent(clusters, pictures, room))]
    left = len(pictures) - len(shown)
    apart = len(shown) - 1
    if room - apart < max(len(shown) * _ROOMY, sum(each.floor for each in shown)):
        apart = 0
    beyond = room - apart - sum(each.floor for each in shown)
    given = share([each.height - each.floor for each in shown], max(0, beyond))
    parts = [each.draw(each.floor + more) for each, more in zip(shown, given, strict=True)]
    more = [Text(f"and {left} more clusters: kraftgate status"[:width])] if left else []
    return Group(*(_apart(parts) if apart else parts), *more)


def _most_urgent(
    clusters: Sequence[Assessed], pictures: Sequence[Picture], room: int
) -> Sequence[int]:
    """Return the places of the clusters that fit, those that need an operator before the others."""
    needs = list(Need)
    ranked = sorted(
        range(len(clusters)), key=lambda at: -needs.index(clusters[at].assessment.next.need)
    )
    shown: list[int] = []
    for at in ranked:
        room -= pictures[at].floor
        if room < 0 and shown:
            break
        shown.append(at)
    return shown


def picture(one: Assessed, width: int, height: int | None = None) -> RenderableType:
    """Return one cluster, over at most `height` lines."""
    return Picture(one, width).draw(height)


def _apart(parts: Sequence[RenderableType]) -> list[RenderableType]:
    """Return the parts with an empty line between them."""
    return [each for part in parts for each in (Text(""), part)][1:]


class LineView:
    """Writes one line for each change, until the output cannot be written any more."""

    def __init__(self, out: IO[str]) -> None:
        self._out: IO[str] | None = out
        self._before: dict[str, Assessed] = {}

    def show(self, tick: Tick) -> None:
        if self._out is None:
            return
        try:
            for one in tick.clusters:
                for line in changes(self._before.get(one.name), one):
                    write_line(self._out, line)
                self._before[one.name] = one
            self._out.flush()
        except OSError as error:
            self._out = None
            _lost("the lines are no longer written", error)

    def close(self) -> None:
        """Do nothing: every line was written."""


def _lost(what: str, error: OSError) -> None:
    """Report that the output cannot be written: alerts and the execution do not depend on it."""
    forget_output()
    release()
    _log.warning("%s: %s", what, error)


def drive(view: View, tick: Callable[[], Tick], stop: Stop, done: Callable[[Tick], bool]) -> None:
    """Show every tick until `stop` is set or `done` returns True; then close the view."""
    try:
        while not stop.is_set():
            now = tick()
            view.show(now)
            if done(now):
                return
            stop.wait(_EVERY_S)
    finally:
        view.close()


def is_terminal() -> bool:
    """Whether a table can be drawn on stdout; FORCE_COLOR makes no pipe a terminal."""
    found = console()
    return found.file.isatty() and found.is_terminal and not found.is_dumb_terminal
