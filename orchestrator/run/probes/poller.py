"""Polls, in the background, the sources that conditions need and that nothing follows.

No caller waits for an answer. Every poll has its own time limit and returns an `Unknown` if it
cannot get an answer.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, TypeAlias

from migration.assessment.conditions import DataSource, Finding
from migration.assessment.finding import unknown
from migration.assessment.polled import Polled

EVERY_S: Final = 5.0
"""Time between the end of one poll and the start of the next."""
STALE_S: Final = 30.0
"""An own condition is stale if its answer is older than this plus its time limit."""
CHECKS_EVERY_S: Final = 60.0
"""The same for the preflight checks, which ask every node for everything."""
_AT_ONCE_MAX: Final = 4

Poll: TypeAlias = Callable[[], Any]
"""Returns the value for its source's field of `Polled`."""


@dataclass(frozen=True, slots=True)
class OwnPoll:
    """Evaluates a user's own condition within `limit_s`."""

    evaluate: Callable[[], Finding]
    limit_s: float = 0.0

    def __call__(self) -> Finding:
        return self.evaluate()


class Poller:
    """The polls of one cluster.

    Args:
        polls: by source; a source's name is the name of its field of `Polled`.
        own: the users' own conditions, by name.
    """

    def __init__(
        self,
        polls: Mapping[DataSource, Poll],
        own: Mapping[str, OwnPoll],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._polls: dict[str, Poll] = {str(source): poll for source, poll in polls.items()}
        self._own = dict(own)
        self._clock_s = clock_s
        self._answers = Polled()
        self._under_way: dict[str, Future[Any]] = {}
        self._ended_s: dict[str, float] = {}
        self._begun_s: dict[str, float] = {}
        self._answered_s: dict[str, float] = {}
        self._latest_s = float("-inf")
        self._pool = ThreadPoolExecutor(_AT_ONCE_MAX, thread_name_prefix="poll")

    @property
    def answers(self) -> Polled:
        """The answers that `store_answers` stored last; an own one that is overdue is unknown."""
        external, now_s = self._answers.external, self._clock_s()
        late = {
            name: unknown(f"{name} has not answered again: its last answer is stale")
            for name in external
            if now_s - self._ended_s.get(name, -inf) > STALE_S + self._own[name].limit_s
        }
        return replace(self._answers, external={**external, **late})

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._polls) | self._own.keys()

    def store_answers(self) -> None:
        now_s = self._now_s()
        for name, future in list(self._under_way.items()):
            if not future.done():
                continue
            del self._under_way[name]
            self._ended_s[name] = now_s
            if (begun_s := self._begun_s.pop(name, None)) is not None:
                self._answered_s[name] = begun_s
            answer = future.result()
            if name in self._own:
                external = {**self._answers.external, name: answer}
                self._answers = replace(self._answers, external=external)
            else:
                self._answers = replace(self._answers, **{name: answer})

    def latest(self) -> Polled:
        """Store the answers that have arrived, and poll every source that is due."""
        self.store_answers()
        self.poll_due((*self._polls, *self._own))
        return self.answers

    def poll_due(self, names: Collection[str]) -> None:
        """Poll the sources among these names that are due; ignore unknown names."""
        now_s = self._now_s()
        for name in (*self._polls, *self._own):
            every_s = CHECKS_EVERY_S if name == DataSource.PREFLIGHT else EVERY_S
            if name in names and now_s - self._ended_s.get(name, float("-inf")) >= every_s:
                self._begin(name)

    def poll_since(self, name: str, since_s: float) -> None:
        """Poll a source, unless a poll of it began at `since_s` or later; ignore unknown names."""
        known = name in self._polls or name in self._own
        if known and not self.is_answered(name, since_s):
            self._begin(name)

    def is_answered(self, name: str, since_s: float) -> bool:
        """Return whether the stored answer is that of a poll that began at `since_s` or later."""
        self._now_s()
        return self._answered_s.get(name, float("-inf")) >= since_s

    def poll_again(self, timeout_s: float) -> bool:
        """Poll everything again and wait; return whether every answer arrived in time.

        A poll that is already running began earlier, so its answer does not count. The preflight
        checks take long and stay valid for long: only their first answer is waited for.
        """
        deadline_s = self._clock_s() + timeout_s
        wanted = [
            name
            for name in (*self._polls, *self._own)
            if name != DataSource.PREFLIGHT or name not in self._ended_s
        ]
        if not self._waited_for(wanted, timeout_s):
            return False
        for name in wanted:
            self._begin(name)
        return self._waited_for(wanted, max(0.0, deadline_s - self._clock_s()))

    def close(self) -> None:
        """Stop polling; a running poll ends within its own time limit."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _waited_for(self, names: Collection[str], timeout_s: float) -> bool:
        wait([self._under_way[name] for name in names if name in self._under_way], timeout_s)
        self.store_answers()
        return not any(name in self._under_way for name in names)

    def _now_s(self) -> float:
        """Return the time; if the clock was set back, forget when anything was polled."""
        now_s = self._clock_s()
        if now_s < self._latest_s:
            for times in (self._begun_s, self._ended_s, self._answered_s):
                times.clear()
        self._latest_s = now_s
        return now_s

    def _begin(self, name: str) -> None:
        if name not in self._under_way:
            poll = self._polls.get(name) or self._own[name]
            self._begun_s[name] = self._now_s()
            self._under_way[name] = self._pool.submit(poll)
