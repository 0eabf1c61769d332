"""Selects the controller to contact next, and the pause between rounds.

In: controllers that failed. Out: the next candidate, or the end of the round: a `Pause` that grows
from round to round and has the answer of each controller. A round ends when all controllers were
tried, or after too many failed steps in a row, so the follower never spins between leaders.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streams.metadata.actions import Pause
from streams.net.endpoint import Endpoint

BACKOFF_S: Final = 0.1
BACKOFF_MAX_S: Final = 5.0
ELECTION_BACKOFF_MAX_S: Final = 0.5
"""Shorter, because a retry with controllers that answer is cheap, and an election is short."""
_DOUBLINGS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a controller failed in this round.

    Attributes:
        epoch: The leader epoch that it reported, if any.
        until: For rejected credentials or a missing right, when the controller may be contacted
            again: a rejection outlives its round, because every further one may lock the account.
    """

    text: str
    epoch: int | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class RoundOver:
    """The end of a round.

    Attributes:
        pause: The pause and its reason.
        epoch: The highest leader epoch reported; None unless every tried controller reported one.
        rejected: Every tried controller rejected the credentials or lacks the right.
    """

    pause: Pause
    epoch: int | None
    rejected: bool


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
        self._nodes.update(nodes)

    def endpoint_of(self, node: int | None) -> Endpoint | None:
        return None if node is None else self._nodes.get(node)

    def prefer(self, endpoint: Endpoint | None) -> None:
        """Prefer this controller as the next candidate; None: no preference."""
        self._preferred = endpoint

    def candidate(self, now: float) -> Endpoint:
        self._tried = {
            endpoint: refusal
            for endpoint, refusal in self._tried.items()
            if refusal.until is None or now < refusal.until
        }
        if self._preferred is not None and self._preferred not in self._tried:
            return self._preferred
        untried = (e for e in self._endpoints() if e not in self._tried)
        return next(untried, self._bootstrap[0])

    def succeeded(self, endpoint: Endpoint | None) -> None:
        """Record a success of this controller: it is preferred, and the backoff is reset."""
        self._preferred = endpoint
        self.forget()
        self._lost_rounds = 0

    def forget(self) -> None:
        """Clear the failures of this round; controllers that rejected the principal wait on."""
        self._tried = {
            endpoint: refusal
            for endpoint, refusal in self._tried.items()
            if refusal.until is not None
        }
        self._useless = 0

    def failed(self, endpoint: Endpoint, refusal: Refusal, now: float) -> RoundOver | None:
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

    def pause(self, reason: str, now: float) -> Pause:
        """Count a failed round with a reason of its own; return the pause."""
        self._lost_rounds += 1
        return Pause(now + self._backoff(BACKOFF_MAX_S), reason)

    def _over(self, refusals: list[Refusal], now: float) -> RoundOver:
        self._lost_rounds += 1
        epochs = [refusal.epoch for refusal in refusals if refusal.epoch is not None]
        detail = ", ".join(refusal.text for refusal in refusals) or "the leader changes too fast"
        epoch = max(epochs) if epochs and len(epochs) == len(refusals) else None
        if epochs or not refusals:
            delay, what = self._backoff(ELECTION_BACKOFF_MAX_S), "no leader found"
        else:
            delay, what = self._backoff(BACKOFF_MAX_S), "no controller reachable"
        rejected = bool(refusals) and all(refusal.until is not None for refusal in refusals)
        return RoundOver(Pause(now + delay, f"{what}: {detail}"), epoch, rejected)

    def _backoff(self, longest_s: float) -> float:
        doublings = min(self._lost_rounds - 1, _DOUBLINGS_MAX)
        delay = min(BACKOFF_S * float(2**doublings), longest_s)
        return delay * (0.5 + self._jitter() / 2)

    def _endpoints(self) -> list[Endpoint]:
        return list(dict.fromkeys([*self._bootstrap, *self._nodes.values()]))
