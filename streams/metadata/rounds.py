"""Selects the controller to contact next, and the pause between rounds.

In: controllers that failed. Out: the next candidate, or the end of the round: a `Wait` that grows
from round to round and has the answer of each controller. A round ends when all controllers were
tried, or after too many failed steps in a row, so the follower never spins between leaders.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streams.metadata.actions import Wait, Why
from streams.net.endpoint import Endpoint

BACKOFF_S: Final = 0.1
BACKOFF_MAX_S: Final = 5.0
ELECTION_BACKOFF_MAX_S: Final = 0.5
"""Shorter, because a retry with controllers that answer is cheap, and an election is short."""
_DOUBLINGS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a controller failed in this round, and the leader epoch that it reported, if any."""

    text: str
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class RoundOver:
    """The end of a round.

    Attributes:
        wait: The pause and its reason.
        epoch: The highest leader epoch reported; None unless every tried controller reported one.
    """

    wait: Wait
    epoch: int | None


class Rounds:
    """The known controllers, and those that were tried since the last success."""

    def __init__(self, bootstrap: Sequence[Endpoint], jitter: Callable[[], float]) -> None:
        self._bootstrap = tuple(bootstrap)
        self._jitter = jitter
        self._nodes: dict[int, Endpoint] = {}
        self._preferred: Endpoint | None = None
        self._tried: dict[Endpoint, Refusal] = {}
        self._useless = 0
        self._lost_rounds = 0

    def learn(self, nodes: Mapping[int, Endpoint]) -> None:
        """Record the endpoints of controllers by node id."""
        self._nodes.update(nodes)

    def where(self, node: int | None) -> Endpoint | None:
        """Return the endpoint of a node; None: unknown."""
        return None if node is None else self._nodes.get(node)

    def prefer(self, endpoint: Endpoint | None) -> None:
        """Prefer this controller as the next candidate; None: no preference."""
        self._preferred = endpoint

    def candidate(self) -> Endpoint:
        """Return the controller to contact next."""
        if self._preferred is not None and self._preferred not in self._tried:
            return self._preferred
        untried = (e for e in self._endpoints() if e not in self._tried)
        return next(untried, self._bootstrap[0])

    def went_well(self, endpoint: Endpoint | None) -> None:
        """Record a success of this controller: it is preferred, and the backoff is reset."""
        self._preferred = endpoint
        self.forget()
        self._lost_rounds = 0

    def forget(self) -> None:
        """Clear the failures of this round, so that every controller is tried again."""
        self._tried.clear()
        self._useless = 0

    def turn_away(self, endpoint: Endpoint, refusal: Refusal, now: float) -> RoundOver | None:
        """Record that a controller failed; return the end of the round, or None if it continues."""
        self._tried[endpoint] = refusal
        return self.spend(now)

    def spend(self, now: float) -> RoundOver | None:
        """Count a failed step; return the end of the round, or None if it continues."""
        self._useless += 1
        endpoints = set(self._endpoints())
        if self._useless <= 2 * len(endpoints) and not self._tried.keys() >= endpoints:
            return None
        refusals = list(self._tried.values())
        self.forget()
        return self._over(refusals, now)

    def wait(self, why: Why, now: float) -> Wait:
        """Count a failed round with a reason of its own; return the pause."""
        self._lost_rounds += 1
        return Wait(now + self._backoff(BACKOFF_MAX_S), why)

    def _over(self, refusals: list[Refusal], now: float) -> RoundOver:
        self._lost_rounds += 1
        told = [refusal.epoch for refusal in refusals if refusal.epoch is not None]
        detail = ", ".join(refusal.text for refusal in refusals) or "the leader changes too fast"
        epoch = max(told) if told and len(told) == len(refusals) else None
        if told or not refusals:
            why = Why("no_leader", f"no leader found: {detail}")
            return RoundOver(Wait(now + self._backoff(ELECTION_BACKOFF_MAX_S), why), epoch)
        why = Why("no_controller_reachable", f"no controller reachable: {detail}")
        return RoundOver(Wait(now + self._backoff(BACKOFF_MAX_S), why), epoch)

    def _backoff(self, longest_s: float) -> float:
        doublings = min(self._lost_rounds - 1, _DOUBLINGS_MAX)
        delay = min(BACKOFF_S * float(2**doublings), longest_s)
        return delay * (0.5 + self._jitter() / 2)

    def _endpoints(self) -> list[Endpoint]:
        return list(dict.fromkeys([*self._bootstrap, *self._nodes.values()]))
