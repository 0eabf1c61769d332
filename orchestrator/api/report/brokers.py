"""The report on brokers: each registration with what became of it, and replicas over time."""

from pydantic import Field

from orchestrator.api.report.shape import Span
from orchestrator.api.shape import Moment, Shape


class Exposure(Span):
    """A time in which Kafka let a held broker serve: it was unfenced early."""

    pending: int = Field(description="Replicas without a known directory when it was unfenced.")


class Assignments(Shape):
    """How the replicas that a held broker had pending got their directories, while it was held."""

    assigned: int = Field(description="Replicas that got one.")
    first_at: Moment
    last_at: Moment
    rate_per_second: float | None = Field(
        description="All of them, by the time from the first to the last; null: all at one moment."
    )
    busiest_second: int = Field(description="The most within one second of the clock.")
    longest_pause_ms: int = Field(description="The longest time between two of them.")


class Incarnation(Shape):
    """One registration of a broker, until the next one."""

    metadata_log: int = Field(description="Which of the cluster's logs, counted from 1.")
    registered_at: Moment | None = Field(description="null: before the snapshot that was read.")
    registered_offset: int | None
    epoch: int | None
    mode: str
    log_dirs: int = Field(description="Directories that it registered.")
    pending: int = Field(description="Replicas without a known directory when it registered.")
    held: Span | None = Field(description="null: it was not held.")
    completed_offset: int | None = Field(
        description="Of the record with which no replica was pending any more."
    )
    unfenced_at: Moment | None = Field(description="When Kafka first let it serve.")
    unfenced_offset: int | None
    fenced: tuple[Span, ...] = Field(description="When Kafka did not let it serve.")
    exposed: tuple[Exposure, ...] = Field(description="When it served while it was held.")
    shut_down_at: Moment | None = Field(description="When its controlled shutdown began.")
    directories_lost: int = Field(description="Directories that went from its registration.")
    ended_at: Moment | None = Field(description="When the next one began, or it was unregistered.")
    assignments: Assignments | None = Field(description="null: none was seen, or it was not held.")


class BrokerAccount(Shape):
    """One broker over the whole time."""

    id: int
    host: str | None
    rack: str | None
    mode: str = Field(description="At the end.")
    held: bool = Field(description="Whether it is held still.")
    fenced: bool
    held_ms: int = Field(description="All its holds together.")
    fenced_ms: int = Field(description="All times in which it was registered and fenced.")
    exposed_ms: int = Field(description="All times in which it served while it was held.")
    assigned: int = Field(description="Pending replicas that got a directory.")
    incarnations: tuple[Incarnation, ...]


class BrokerSeries(Shape):
    """One broker's replicas at the moments of the series."""

    id: int
    assigned: tuple[int, ...]
    pending: tuple[int, ...]


class Series(Shape):
    """Replicas by what is known of their directory, over time; from the metadata log's records."""

    at: tuple[Moment, ...]
    assigned: tuple[int, ...]
    pending: tuple[int, ...] = Field(description="Migrating or unassigned.")
    unusable: tuple[int, ...] = Field(description="Offline or lost.")
    brokers: tuple[BrokerSeries, ...]
