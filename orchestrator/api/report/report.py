"""The whole report as JSON; `runbooks/report.schema.json` is generated from these models."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from pydantic import Field

from migration.metadata.event_kinds import Weight
from orchestrator.api.report.brokers import BrokerAccount, Series
from orchestrator.api.report.execution import Decision, ExecutionAccount
from orchestrator.api.report.shape import Span
from orchestrator.api.shape import Moment, Shape
from orchestrator.runbook.schema import Plain, published

_ID: Final = "urn:kraftgate:report:1"
Lane: TypeAlias = Literal["metadata", "zookeeper", "disks", "jmx", "walk", "people", "kraftgate"]


class AuditAccount(Shape):
    """The audit trail, as `kraftgate audit verify` verifies it."""

    file: str
    intact: bool
    entries: int = Field(description="The number of entries up to the last valid one.")
    head: str = Field(description="The hash of that last entry, which covers all before it.")
    first_bad: int | None = Field(description="The first invalid entry.")
    why: str = Field(description='The problem; "": there is none.')

    @property
    def problem(self) -> str:
        """The predicate of the sentence that `why` completes."""
        return "cannot be read" if not self.entries and self.first_bad is None else "is not intact"


class Window(Shape):
    """The time that the report covers; its lists also have what was seen outside."""

    of: Literal["walks", "migration", "followed"] = Field(
        description="walks: from the beginning of the first execution to the end of the last one;"
        " migration: there is no execution; followed: the cluster does not migrate."
    )
    began_at: Moment | None
    ended_at: Moment | None
    ended: bool | None = Field(
        description="false: it has not ended, and the report is incomplete; null: it is unknown."
    )
    duration_ms: int | None


class PhaseSpan(Span):
    """A phase of the migration."""

    phase: str
    offset: int | None = Field(description="Of its first record; null: another source reported it.")
    source: str | None = Field(description="What reported it; null: it began before that.")
    metadata_log: int = Field(
        default=1, description="Which of the cluster's metadata logs, counted from 1."
    )
    attempt: int | None = Field(
        default=None, description="The attempt that it belongs to, counted from 1; null: none."
    )


class Attempt(Span):
    """One attempt at the migration; it ends when it is finalized or rolled back."""

    number: int = Field(description="Counted from 1.")
    metadata_log: int = Field(description="Which of the cluster's metadata logs it wrote.")
    outcome: Literal["finalized", "rolled back", "abandoned", "under way"] = Field(
        description="abandoned: another metadata log began, and no rollback was seen."
    )
    reached: str = Field(description="The last phase of the migration that it reached.")
    walks: tuple[int, ...] = Field(description="The executions during the attempt.")


class HazardAccount(Span):
    """A hazard, from its beginning to its end."""

    hazard: str
    broker: int | None
    severity: str
    blocks: str | None = Field(description="The action that it blocked.")
    text: str = Field(description="Its first text.")
    last_text: str = Field(description="Its last text.")
    evidence: tuple[str, ...]
    way_out: str
    since_at: Moment | None = Field(description="When its cause began, as far as known.")
    last_seen_at: Moment | None = Field(
        description="When it was last active; it ended between this and `ended_at`."
    )
    known_by: Literal["looks", "records", "store"] = Field(
        description="`looks`: assessed by `kraftgate run`, in the audit trail; `records`: only the"
        " metadata log shows it; `store`: it is active at the end, and its beginning is unknown."
    )
    entries: tuple[int, ...] = Field(description="Its audit entries.")


class AlertAccount(Span):
    """An alert that was active."""

    name: str
    severity: str
    labels: Mapping[str, str] = Field(description="Its labels, as in Prometheus.")
    text: str = Field(description="Its description when it became active.")
    since_at: Moment | None = Field(description="When its condition began.")
    entries: tuple[int, ...] = Field(description="Its audit entries.")


class LossAccount(Shape):
    """Acknowledged records that are lost."""

    at: Moment = Field(description="When the loss was detected.")
    topic: str
    partition: int
    broker: int | None = Field(description="The leader that reported it.")
    first_offset: int = Field(
        description="Earlier records are lost, too, if the log was recreated."
    )
    last_offset: int
    records: int = Field(description="At least.")
    last_seen_at: Moment | None = Field(description="When they were last seen.")


class UnseenAccount(Span):
    """A time in which a source was not current."""

    source: Literal["metadata_log", "zookeeper", "log_dirs", "jmx"]
    node: int | None = Field(description="The broker or node; null: the whole source.")
    why: str
    missed: str = Field(description="What may have been missed.")


class RunAccount(Span):
    """A `kraftgate run` that followed the cluster."""

    version: str
    owner: str
    killed: bool = Field(description="It did not record its end.")
    why: str = Field(description='The error that ended it; "": none is known.')


class Happening(Shape):
    """An event, a decision or an audit entry of the timeline."""

    at: Moment | None
    lane: Lane
    kind: str
    text: str
    broker: int | None
    offset: int | None = Field(description="Of its metadata record.")
    entry: int | None = Field(description="Of its audit entry.")
    weight: Weight


class Absences(Shape):
    """What an empty list of the report means: there was none, or whether there was is unknown."""

    replicas: str | None = Field(description="null: `replicas` is not null.")
    hazards: str | None = Field(description="null: the list is not empty.")
    decisions: str | None = Field(description="null: the list is not empty.")
    losses: str | None = Field(description="null: the list is not empty.")
    unseen: str | None = Field(description="null: the list is not empty.")


class ClusterReport(Shape):
    """One cluster."""

    cluster: str
    cluster_id: str | None
    as_of: Moment | None = Field(description="The time of the last known fact.")
    phase: str
    metadata_version: str | None
    attention: tuple[str, ...] = Field(description="Warnings.")
    summary: tuple[str, ...] = Field(description="The summary in sentences.")
    window: Window
    phases: tuple[PhaseSpan, ...]
    walks: tuple[ExecutionAccount, ...]
    decisions: tuple[Decision, ...]
    brokers: tuple[BrokerAccount, ...]
    replicas: Series | None = Field(description="null: see `absences`.")
    hazards: tuple[HazardAccount, ...]
    alerts: tuple[AlertAccount, ...]
    losses: tuple[LossAccount, ...]
    unseen: tuple[UnseenAccount, ...]
    absences: Absences = Field(description="The sentences for the empty ones of these lists.")
    runs: tuple[RunAccount, ...]
    limits: tuple[str, ...] = Field(description="What the sources cannot show in this cluster.")
    happened: tuple[Happening, ...]
    attempts: tuple[Attempt, ...] = Field(description="The attempts at the migration.")


class Report(Shape):
    """The output of `kraftgate report`: the same for the same state directory."""

    report: Literal[1] = Field(default=1, description="The format of this object.")
    kraftgate: str = Field(description="The version that wrote it.")
    audit: AuditAccount | None = Field(description="null: there is no audit trail.")
    clusters: tuple[ClusterReport, ...]


def schema() -> dict[str, Any]:
    """Return the schema (2020-12) of the report."""
    made = Report.model_json_schema(mode="serialization", schema_generator=Plain)
    definitions = made.pop("$defs")
    return published(_ID, made | {"title": "Kraftgate report"}, definitions)


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"
