"""Schedules the polls: when each broker is polled next, and which requests that answers. Pure.

Times are of the monotonic clock, in seconds. A broker that is down, has just started, or was
requested is polled every `eager_s`; every other one every `interval_s`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

_DOWN_EAGER_S = 600.0
"""A broker that is down for longer is polled as rarely as any other: it has left."""


@dataclass(slots=True)
class BrokerSchedule:
    """The schedule of one broker.

    Attributes:
        due_s: when it is to be polled.
        asked: the number of the current poll; None: none is in progress.
        eager_until_s: until when it is polled often.
        down_since_s: when it stopped answering; None while it answers, or before any poll.
        polled: whether any poll has ended.
        paths: those that it last named.
    """

    due_s: float
    asked: int | None = None
    eager_until_s: float = 0.0
    down_since_s: float | None = None
    polled: bool = False
    paths: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Ticket:
    since: int
    needs: set[int] = field(default_factory=set)


class Schedule:
    """The schedule of all brokers."""

    def __init__(self, interval_s: float, eager_s: float, eager_for_s: float) -> None:
        self._interval_s = interval_s
        self._eager_s = eager_s
        self._eager_for_s = eager_for_s
        self._turns: dict[int, BrokerSchedule] = {}
        self._tickets: dict[int, _Ticket] = {}
        self._polls = 0

    @property
    def brokers(self) -> Collection[int]:
        return self._turns.keys()

    @property
    def open_tickets(self) -> Collection[int]:
        """Requests that were accepted and not answered."""
        return self._tickets.keys()

    @property
    def all_polled(self) -> bool:
        """Whether there are brokers, and each was polled once, with any result."""
        return bool(self._turns) and all(turn.polled for turn in self._turns.values())

    def expect(self, brokers: Iterable[int], now_s: float) -> None:
        for each in brokers:
            self._turns.setdefault(each, BrokerSchedule(due_s=now_s))

    def due(self, now_s: float, at_most: int) -> list[int]:
        """Return the brokers to poll now, the longest overdue first; none with a current poll."""
        waiting = [
            (turn.due_s, id_)
            for id_, turn in self._turns.items()
            if turn.asked is None and turn.due_s <= now_s
        ]
        asked = sum(turn.asked is not None for turn in self._turns.values())
        return [id_ for _, id_ in sorted(waiting)][: max(0, at_most - asked)]

    def begin(self, broker: int) -> None:
        self._polls += 1
        self._turns[broker].asked = self._polls

    def finish(self, broker: int, now_s: float, paths: frozenset[str] | None) -> list[int]:
        """Record that a poll of the broker ended and its result is appended.

        `paths`: of its log directories; None when it did not answer. Return the requests that this
        answers.
        """
        turn = self._turns[broker]
        number, turn.asked = turn.asked or 0, None
        wanted_again = any(
            broker in ticket.needs and ticket.since >= number for ticket in self._tickets.values()
        )
        self._note(turn, now_s, paths)
        eager = now_s < turn.eager_until_s or (
            turn.down_since_s is not None and now_s - turn.down_since_s < _DOWN_EAGER_S
        )
        every_s = min(self._eager_s, self._interval_s) if eager else self._interval_s
        turn.due_s = now_s if wanted_again else now_s + every_s
        for ticket in self._tickets.values():
            if number > ticket.since:
                ticket.needs.discard(broker)
        return self.take_answered()

    def is_settled(self, broker: int, now_s: float) -> bool:
        """Return whether the broker has been answering for a while: its view is complete."""
        turn = self._turns.get(broker)
        return (
            turn is not None
            and turn.polled
            and turn.down_since_s is None
            and now_s >= turn.eager_until_s
        )

    def is_eager(self, broker: int, now_s: float) -> bool:
        """Return whether its own view is required: it has just started, or was requested."""
        turn = self._turns[broker]
        return turn.down_since_s is not None or not turn.polled or now_s < turn.eager_until_s

    def request(
        self, ticket: int, brokers: Iterable[int], now_s: float, *, about: int | None
    ) -> None:
        """Accept a request: it is answered when polls that begin from now on have ended.

        `about`: the broker that is polled eagerly for a while; None: none is.
        """
        needs = {each for each in brokers if each in self._turns}
        self._tickets[ticket] = _Ticket(self._polls, needs)
        for each in needs:
            turn = self._turns[each]
            turn.due_s = min(turn.due_s, now_s)
            if each == about:
                turn.eager_until_s = max(turn.eager_until_s, now_s + self._eager_for_s)

    def take_answered(self) -> list[int]:
        """Return the requests that require no (further) poll."""
        done = [id_ for id_, ticket in self._tickets.items() if not ticket.needs]
        for id_ in done:
            del self._tickets[id_]
        return done

    def _note(self, turn: BrokerSchedule, now_s: float, paths: frozenset[str] | None) -> None:
        if paths is None:
            turn.down_since_s = now_s if turn.down_since_s is None else turn.down_since_s
        else:
            came = turn.down_since_s is not None or (turn.polled and paths != turn.paths)
            if came:
                turn.eager_until_s = max(turn.eager_until_s, now_s + self._eager_for_s)
            turn.down_since_s = None
            turn.paths = paths
        turn.polled = True
