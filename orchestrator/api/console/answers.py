"""What the console answers to one question, and what a person says to it."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from migration.metadata.replica_state import ReplicaState
from orchestrator.api.console.rows import EventTold
from orchestrator.api.console.shape import Lane, Ms, Shape


class Beat(Shape):
    """The server's clock, and when it last looked at the clusters."""

    at_ms: Ms
    looked_ms: Ms | None


class Session(Shape):
    """Who may do what from here.

    Attributes:
        insecure: the console is served over plain HTTP beyond its own host: show that.
    """

    token_to_read: bool
    may_read: bool
    insecure: bool


class Bucket(Shape):
    """How many events there are of one lane in [at_ms, at_ms + width), by kind."""

    at_ms: Ms
    lane: Lane
    count: int
    kinds: Mapping[str, int]


class Timeline(Shape):
    """The axis: from_ms <= event < to_ms; buckets without an event are left out."""

    from_ms: Ms
    to_ms: Ms
    width_ms: int
    total: int
    lanes: Mapping[Lane, int]
    kinds: Mapping[str, int]
    buckets: tuple[Bucket, ...]


class EventPage(Shape):
    """A page of events in the order that was asked for; `next`: cursor, null at the end."""

    events: tuple[EventTold, ...]
    next: str | None


class PendingReplica(Shape):
    """One replica.

    Attributes:
        directory: its id in the metadata log, while it has a real one.
        path: where its log lies on the broker, as the disks were last looked at.
    """

    topic: str
    partition: int
    state: ReplicaState
    directory: str | None
    path: str | None


class PendingPage(Shape):
    """A page of a broker's replicas by topic and partition.

    Attributes:
        total: how many there are of the states that were asked for.
        expected: what the broker's row counts of them; it differs while a batch is under way.
        note: what is not known, in words.
    """

    broker: int
    total: int
    expected: int | None
    replicas: tuple[PendingReplica, ...]
    next: str | None
    note: str | None


class Say(Shape):
    """What a person says; the audit trail keeps who and why.

    Attributes:
        checkpoint: to approve only.
        confirm: the cluster's name, to approve a step that cannot be undone.
    """

    who: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    reason: Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
    checkpoint: Annotated[str, Field(max_length=200)] | None = None
    confirm: Annotated[str, Field(max_length=200)] | None = None


class Done(Shape):
    """It stands in the audit trail; the command's own words."""

    said: tuple[str, ...]


class Problem(Shape):
    """What went wrong, and how to fix it."""

    code: str
    message: str
    mend: str | None = None


class Failure(Shape):
    """The body of every error."""

    error: Problem
