"""The audit entries of `kraftgate move apply` and `move cancel`, and the throttles they left."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from orchestrator.audit.entry import Entry
from orchestrator.audit.execution.entries import Person
from orchestrator.audit.kinds import EntryBody, EntryKind

Command = Literal["apply", "cancel"]


class Body(EntryBody):
    """An entry of a run of moves."""

    types: ClassVar[dict[str, type[Any]]] = {}


class MoveBegan(Body, kind=EntryKind.MOVE_BEGAN):
    """An operator began to apply or to cancel a plan of moves between log directories.

    Attributes:
        sha256: of the plan's file.
        replicas: the number of replicas to move.
    """

    command: Command
    by: Person
    plan: str
    sha256: str
    replicas: int


class MoveThrottled(Body, kind=EntryKind.MOVE_THROTTLED):
    """The throttle of a broker's moves is about to change.

    Attributes:
        previous: what was set for this broker before; None: nothing.
        value: what is to be set.
    """

    broker: int
    previous: str | None
    value: str

    def words(self) -> Mapping[str, object]:
        return {"before": self.previous or "not set"}


class Sent(BaseModel):
    """One replica of a request; in a cancellation `to` is where it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str
    partition: int
    source: str
    to: str


class MoveSent(Body, kind=EntryKind.MOVE_SENT):
    """A broker is about to be asked to move replicas, or to keep them where they are."""

    broker: int
    replicas: tuple[Sent, ...]

    def words(self) -> Mapping[str, object]:
        kept = all(each.source == each.to for each in self.replicas)
        count = len(self.replicas)
        replicas = f"{count} replica" + "s" * (count != 1)
        return {"asked": f"{'keep' if kept else 'move'} {replicas}"}


class MoveUnthrottled(Body, kind=EntryKind.MOVE_UNTHROTTLED):
    """The throttle of a broker's moves was restored.

    Attributes:
        value: what is set for this broker now; None: nothing.
        kept: whether another client had changed it, so that it was left alone.
    """

    broker: int
    value: str | None
    kept: bool

    def words(self) -> Mapping[str, object]:
        how = "was changed by another client and stays" if self.kept else "was restored to"
        return {"restored": f"{how} {self.value or 'not set'}"}


class MoveEnded(Body, kind=EntryKind.MOVE_ENDED):
    """The run ended; after a kill there is no such entry.

    Attributes:
        done: replicas in their target, or after `cancel`, without a move.
        why: why replicas are left.
    """

    command: Command
    done: int
    left: int
    why: tuple[str, ...]

    def words(self) -> Mapping[str, object]:
        return {"reason": "".join(f"; {each}" for each in self.why)}


class LeftThrottle(NamedTuple):
    """A throttle that was, or may have been, set and not yet restored.

    Attributes:
        last: the last change.
        values: what all changes were to set; the last one may not have reached Kafka.
    """

    last: MoveThrottled
    values: frozenset[str]


def after_change(left: LeftThrottle | None, change: MoveThrottled) -> LeftThrottle:
    """Return the throttle that a change leaves; `left`: the one that it found."""
    earlier = frozenset[str]() if left is None else left.values
    return LeftThrottle(change, earlier | {change.value})


def left_throttled(found: Iterable[Entry]) -> Mapping[int, LeftThrottle]:
    """Return the throttles that were, or may have been, set and not yet restored, by broker."""
    left: dict[int, LeftThrottle] = {}
    for _, body in Body.read(found):
        if isinstance(body, MoveThrottled):
            left[body.broker] = after_change(left.get(body.broker), body)
        elif isinstance(body, MoveUnthrottled):
            left.pop(body.broker, None)
    return left


def resting_throttles(found: Iterable[Entry]) -> Mapping[int, frozenset[str | None]]:
    """Return the throttles that brokers had outside of runs, before or after one, by broker."""
    seen: dict[int, frozenset[str | None]] = {}
    for _, body in Body.read(found):
        if isinstance(body, MoveThrottled):
            seen[body.broker] = seen.get(body.broker, frozenset()) | {body.previous}
        elif isinstance(body, MoveUnthrottled):
            seen[body.broker] = seen.get(body.broker, frozenset()) | {body.value}
    return seen
