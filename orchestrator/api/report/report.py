"""The whole report as JSON; `runbooks/report.schema.json` is generated from these models."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from orchestrator.api.report.brokers import BrokerAccount, Series
from orchestrator.api.report.execution import Decision, WalkAccount
from orchestrator.api.report.shape import Span
from orchestrator.api.shape import Moment, Shape


class AuditAccount(Shape):
    """The audit trail, as `kraftgate audit verify` verifies it."""

    file: str
    intact: bool
    entries: int = Field(description="From the first up to the last that is good.")
    head: str = Field(description="The hash of that last one: it covers all before it.")
    first_bad: int | None = Field(description="The first entry that is not as it was written.")
    why: str = Field(description='What is wrong; "" when nothing is.')


class Window(Shape):
    """The time that the report is about; what was seen outside is in its lists, too."""

    of: Literal["walks", "migration", "followed"] = Field(
        description="From the first walk's beginning to the last one's end; without a runbook, of"
        " the migration; without one, all the time that the cluster was followed."
    )
    began_at: Moment | None
    ended_at: Moment | None
    ended: bool = Field(description="false: it goes on, and this report is of its middle.")
    duration_ms: int | None


class PhaseSpan(Span):
    """A phase of the migration."""

    phase: str
    offset: int | None = Field(description="Of the record that began it; null: seen elsewhere.")
    source: str | None = Field(description="Where it was seen; null: before anything was.")
    metadata_log: int = Field(
        default=1, description="Which of the cluster's metadata logs, counted from 1."
    )
    attempt: int | None = Field(
        default=None, description="Of which attempt, counted from 1; null: of none."
    )


class Attempt(Span):
    """One attempt at the migration: it ends when it is finalized, or rolled back."""

    number: int = Field(description="Counted from 1.")
    metadata_log: int = Field(description="Which of the cluster's metadata logs it wrote.")
    outcome: Literal["finalized", "rolled back", "abandoned", "under way"] = Field(
        description="abandoned: another metadata log began, and no rollback was seen."
    )
    reached: str = Field(description="The last phase on the way that it reached.")
    walks: tuple[int, ...] = Field(description="The walks that were under way meanwhile.")


class HazardAccount(Span):
    """A hazard, from its beginning to its end."""

    hazard: str
    broker: int | None
    severity: str
    blocks: str | None = Field(description="What it forbade.")
    text: str = Field(description="What was first said of it.")
    last_text: str = Field(description="What was last said of it.")
    evidence: tuple[str, ...]
    way_out: str
    since_at: Moment | None = Field(description="Since when it was, as well as is known.")
    last_seen_at: Moment | None = Field(
        description="When it was last seen to stand; it ended between this and `ended_at`."
    )
    known_by: Literal["looks", "records", "store"] = Field(
        description="`looks`: assessed while the cluster was followed, and kept in the audit trail;"
        " `records`: of the metadata log; `store`: it stands at the end, its beginning was not"
        " kept."
    )
    entries: tuple[int, ...] = Field(description="The audit entries about it.")


class AlertAccount(Span):
    """An alert that was active."""

    name: str
    severity: str
    labels: Mapping[str, str] = Field(description="What it was about, as Prometheus has it.")
    text: str = Field(description="What it said when it began.")
    since_at: Moment | None = Field(description="When its condition began.")
    entries: tuple[int, ...] = Field(description="The audit entries about it.")


class LossAccount(Shape):
    """Records that were acknowledged and are gone."""

    at: Moment = Field(description="When it was noticed.")
    topic: str
    partition: int
    broker: int | None = Field(description="The leader that reported it.")
    first_offset: int
    last_offset: int
    records: int
    last_seen_at: Moment | None = Field(description="When they were last seen to be there.")


class UnseenAccount(Span):
    """A time in which nobody saw what a source would have shown."""

    source: Literal["metadata_log", "zookeeper", "log_dirs", "jmx"]
    node: int | None = Field(description="The broker or node; null: all of it.")
    why: str
    missed: str = Field(description="What may have been missed, in words.")


class RunAccount(Span):
    """A `kraftgate run` that followed the cluster."""

    version: str
    owner: str
    killed: bool = Field(description="It ended without a word.")


class Happening(Shape):
    """Something that happened, on the one axis."""

    at: Moment | None
    lane: Literal["metadata", "zookeeper", "disks", "jmx", "walk", "people", "kraftgate"]
    kind: str
    text: str
    broker: int | None
    offset: int | None = Field(description="Of its metadata record.")
    entry: int | None = Field(description="Of its audit entry.")
    weight: Literal["bad", "notable", "plain"]


class ClusterReport(Shape):
    """One cluster."""

    cluster: str
    cluster_id: str | None
    as_of: Moment | None = Field(description="The last moment of which anything is known.")
    phase: str
    metadata_version: str | None
    attention: tuple[str, ...] = Field(description="What a reader must know first.")
    summary: tuple[str, ...] = Field(description="The whole in plain sentences.")
    window: Window
    phases: tuple[PhaseSpan, ...]
    walks: tuple[WalkAccount, ...]
    decisions: tuple[Decision, ...]
    brokers: tuple[BrokerAccount, ...]
    replicas: Series | None = Field(description="null: no transition was kept.")
    hazards: tuple[HazardAccount, ...]
    alerts: tuple[AlertAccount, ...]
    losses: tuple[LossAccount, ...]
    unseen: tuple[UnseenAccount, ...]
    runs: tuple[RunAccount, ...]
    limits: tuple[str, ...] = Field(description="What the sources do not see here.")
    happened: tuple[Happening, ...]
    attempts: tuple[Attempt, ...] = Field(description="At the migration; none: none was seen.")


class Report(Shape):
    """What `kraftgate report` writes: the same for the same state directory."""

    report: Literal[1] = Field(default=1, description="The format of this object.")
    kraftgate: str = Field(description="The version that wrote it.")
    audit: AuditAccount | None = Field(description="null: there is no audit trail.")
    clusters: tuple[ClusterReport, ...]
