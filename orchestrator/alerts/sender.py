"""Tells one receiver, from a thread of its own: whoever hands over never waits for it.

What is handed over replaces what was: only what stands now matters, and what was told before is in
the ledger. A receiver that cannot be reached is tried again after a time that doubles, up to a
minute, and differs from one to the next; one that refuses a notice is told it again after five.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.alerts import book
from orchestrator.alerts.book import Manner, Wanted
from orchestrator.alerts.channel import Channel
from orchestrator.alerts.ledger import Account, Ledger
from orchestrator.alerts.notice import Notice
from orchestrator.alerts.post import Undelivered

_FIRST_S: Final = 1.0
_LONGEST_S: Final = 60.0
_ASKED_S_MAX: Final = 600.0
"""So long at most it waits when the other side asks for it (`Retry-After`)."""
_REFUSED_S: Final = 300.0
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How it goes with one receiver, since this process began but for the times.

    Attributes:
        sent: notices that it took.
        failed: attempts that failed.
        waiting: notices that are due.
        success_ms: when it last took one; None: never.
        why: why the last attempt failed; None: it did not.
    """

    sent: int = 0
    failed: int = 0
    waiting: int = 0
    success_ms: int | None = None
    why: str | None = None


class Sender:
    """One receiver and its thread.

    Args:
        name: The receiver's.
        jitter: Gives a number from 0 to 1.
    """

    def __init__(
        self,
        name: str,
        channel: Channel,
        manner: Manner,
        ledger: Ledger,
        *,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._channel = channel
        self._manner = manner
        self._ledger = ledger
        self._clock_ms = clock_ms
        self._jitter = jitter
        self._account = ledger.read()
        self._news = threading.Condition()
        self._wanted: Wanted | None = None
        self._fresh = self._ends = False
        self._failures = 0
        self._not_before_s = 0.0
        self._refused: dict[str, float] = {}
        self.figures = Figures(success_ms=self._account.success_ms)
        self._thread = threading.Thread(target=self._work, name=f"alerts-{name}", daemon=True)
        self._thread.start()

    def hand_over(self, wanted: Wanted) -> None:
        """Say what stands now; returns at once."""
        with self._news:
            self._wanted, self._fresh = wanted, True
            self._news.notify()

    def end(self) -> None:
        """Tell what is due still, each once, and then no more; returns at once."""
        with self._news:
            self._ends = True
            self._news.notify()

    def left(self, within_s: float) -> tuple[Notice, ...]:
        """Wait for the end so long at most; what could not be told, the next run tells."""
        self._thread.join(within_s)
        if self._wanted is None:
            return ()
        return book.due(self._account.told, self._wanted, self._manner, self._clock_ms())

    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            while True:
                wanted, ends = self._next()
                if wanted is not None:
                    self._tell(wanted, at_the_end=ends)
                if ends:
                    return
        finally:
            self._channel.close()

    def _next(self) -> tuple[Wanted | None, bool]:
        """Wait for what stands now, and until the receiver may be tried again."""
        with self._news:
            left_s = max(0.0, self._not_before_s - time.monotonic())
            waits = None if self.figures.waiting == 0 or self._failures == 0 else left_s
            self._news.wait_for(lambda: self._fresh or self._ends, waits)
            while not self._ends and (left_s := self._not_before_s - time.monotonic()) > 0:
                self._news.wait(left_s)
            self._fresh = False
            return self._wanted, self._ends

    def _tell(self, wanted: Wanted, *, at_the_end: bool) -> None:
        """Tell all that is due, until the receiver cannot be reached."""
        told = book.noted(self._account.told, wanted)
        for fingerprint in book.given_up(told, self._clock_ms()):
            alert = told[fingerprint].alert
            _log.error("%s: that %s is over could not be told for a day", self.name, alert.name)
            told = {key: each for key, each in told.items() if key != fingerprint}
        news = book.outline(told) != book.outline(self._account.told)
        self._keep(replace(self._account, told=told), write=news)
        while notices := self._due(wanted, at_the_end=at_the_end):
            self._count(waiting=len(notices))
            if not self._attempt(notices[: self._channel.at_once]):
                return
        self._count(waiting=0)

    def _due(self, wanted: Wanted, *, at_the_end: bool) -> Sequence[Notice]:
        now_s = time.monotonic()
        self._refused = {key: at_s for key, at_s in self._refused.items() if at_s > now_s}
        found = book.due(
            self._account.told, wanted, self._manner, self._clock_ms(), at_the_end=at_the_end
        )
        return [each for each in found if each.key not in self._refused]

    def _attempt(self, notices: Sequence[Notice]) -> bool:
        """Send some; whether to go on with the next."""
        before, now_ms = self._account, self._clock_ms()
        self._keep(replace(before, told=book.sending(before.told, notices)))
        try:
            self._channel.tell(notices, now_ms)
        except Undelivered as error:
            self._failed(before.told, notices, error)
            if error.refused and len(notices) > 1:  # one of them, perhaps, and not the others
                return all(self._attempt([each]) for each in notices)
            return error.refused
        told = book.taken(self._account.told, notices, now_ms)
        if self._failures:
            _log.warning("%s takes notices again", self.name)
        self._failures = 0
        self._keep(replace(self._account, told=told, success_ms=now_ms, why=None))
        self._count(sent=len(notices), success_ms=now_ms)
        return True

    def _failed(self, before: book.Book, notices: Sequence[Notice], error: Undelivered) -> None:
        why, now_s = str(error), time.monotonic()
        told = self._account.told if error.taken is None else before
        if self._account.why != why:
            _log.warning("%s was not told of an alert: %s", self.name, why)
        now_ms = self._clock_ms()
        self._keep(replace(self._account, told=told, failure_ms=now_ms, why=why))
        if not error.refused:
            self._failures += 1
            wait_s = min(_FIRST_S * 2 ** min(self._failures - 1, 10), _LONGEST_S)
            wait_s *= 0.5 + self._jitter() / 2
            self._not_before_s = now_s + max(wait_s, min(error.after_s or 0.0, _ASKED_S_MAX))
        elif len(notices) == 1:
            self._refused[notices[0].key] = now_s + _REFUSED_S
        self._count(failed=1, why=why)

    def _keep(self, account: Account, *, write: bool = True) -> None:
        """Write it down; a full disk keeps nobody from being told."""
        self._account = account
        if not write:
            return
        try:
            self._ledger.write(account)
        except OSError as error:
            _log.warning("what %s was told cannot be kept: %s", self.name, error)

    def _count(
        self,
        *,
        sent: int = 0,
        failed: int = 0,
        waiting: int | None = None,
        success_ms: int | None = None,
        why: str | None = None,
    ) -> None:
        was = self.figures
        self.figures = Figures(
            sent=was.sent + sent,
            failed=was.failed + failed,
            waiting=was.waiting if waiting is None else waiting,
            success_ms=was.success_ms if success_ms is None else success_ms,
            why=why if failed else (None if sent else was.why),
        )
