"""The report on brokers: each registration with its course, and the replicas over time."""

from pydantic import Field

from orchestrator.api.report.shape import Span
from orchestrator.api.shape import Moment, Shape


class Exposure(Span):
    """A time in which a held broker was unfenced early."""

    pending: int = Field(description="Pending replicas when it was unfenced.")


class Assignments(Shape):
    """How the pending replicas of a held broker got their directories."""

    assigned: int = Field(description="The number of replicas that got one.")
    first_at: Moment
    last_at: Moment
    rate_per_second: float | None = Field(
        description="Over the time from the first to the last; null: all at the same time."
    )
    busiest_second: int = Field(description="The maximum within one second of the clock.")
    longest_pause_ms: int = Field(description="The longest time between two of them.")


class Incarnation(Shape):
    """One registration of a broker, until the next one."""

    metadata_log: int = Field(description="Which of the cluster's metadata logs, counted from 1.")
    registered_at: Moment | None = Field(description="null: before the first read snapshot.")
    registered_offset: int | None
    epoch: int | None
    mode: str
    log_dirs: int = Field(description="The number of registered directories.")
    pending: int = Field(description="Pending replicas when it registered.")
    held: Span | None = Field(description="null: it was not held.")
    cut_short: bool = Field(
        description="Whether another registration, or the rollback, ended its hold."
    )
    completed_offset: int | None = Field(
        description="Of the record that assigned the last pending replica."
    )
    unfenced_at: Moment | None = Field(description="When it was first unfenced.")
    unfenced_offset: int | None
    fenced: tuple[Span, ...] = Field(description="When it was fenced.")
    exposed: tuple[Exposure, ...] = Field(description="When it was unfenced early.")
    shut_down_at: Moment | None = Field(description="When its controlled shutdown began.")
    directories_lost: int = Field(description="Directories that its registration lost.")
    ended_at: Moment | None = Field(description="When the next one began, or it was unregistered.")
    assignments: Assignments | None = Field(
        description="null: there is none, it was not held, or `assigned` of the broker is null."
    )


class BrokerAccount(Shape):
    """One broker, over all its registrations."""

    id: int
    host: str | None
    rack: str | None
    mode: str = Field(description="At the end.")
    held: bool = Field(description="Whether it is held at the end.")
    fenced: bool
    held_ms: int | None = Field(description="The sum of its holds; null: one is unknown.")
    fenced_ms: int | None = Field(
        description="The sum of the times in which it was fenced; null: one is unknown."
    )
    exposed_ms: int | None = Field(
        description="The sum of the times in which it was unfenced early; null: one is unknown."
    )
    assigned: int | None = Field(
        description="Pending replicas that got a directory; null: it is unknown."
    )
    incarnations: tuple[Incarnation, ...]


class BrokerSeries(Shape):
    """One broker's replicas at the times of the series."""

    id: int
    assigned: tuple[int, ...]
    pending: tuple[int, ...]


class Series(Shape):
    """The number of replicas in each directory state over time, from the metadata log."""

    at: tuple[Moment, ...]
    assigned: tuple[int, ...]
    pending: tuple[int, ...] = Field(
        description="Without a known directory: migrating, unassigned, lost or reserved."
    )
    unusable: tuple[int, ...] = Field(description="In an offline directory.")
    brokers: tuple[BrokerSeries, ...]
