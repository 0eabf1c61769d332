"""The console's answers to single requests, the actions, and the JSON Schema of it all."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from migration.assessment.conditions import Verdict
from migration.metadata.replica_state import ReplicaState
from orchestrator.api.console.state import Change, Lane, State, TimelineEvent
from orchestrator.api.shape import Moment, Row
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.runbook.model import Part
from orchestrator.runbook.schema import DIALECT


class Beat(Row):
    """The server's clock, and the time of the last tick."""

    at_ms: Moment
    looked_ms: Moment | None


class Session(Row):
    """The permissions of this client.

    Attributes:
        insecure: plain HTTP beyond loopback: show that.
    """

    token_to_read: bool
    may_read: bool
    insecure: bool


class Bucket(Row):
    """The number of events of one lane in [at_ms, at_ms + width), by kind; `bad`: of bad kinds."""

    at_ms: Moment
    lane: Lane
    count: int
    bad: int
    kinds: Mapping[str, int]


class Timeline(Row):
    """The axis: from_ms <= event < to_ms; buckets without an event are left out."""

    from_ms: Moment
    to_ms: Moment
    width_ms: int
    total: int
    lanes: Mapping[Lane, int]
    kinds: Mapping[str, int]
    buckets: tuple[Bucket, ...]


class EventPage(Row):
    """A page of events in the requested order; `next`: cursor, null at the end."""

    events: tuple[TimelineEvent, ...]
    next: str | None


class PendingReplica(Row):
    """One replica.

    Attributes:
        directory: its id in the metadata log; null: it has no real one.
        path: of its log on the broker, as last polled.
    """

    topic: str
    partition: int
    state: ReplicaState
    directory: str | None
    path: str | None


class PendingPage(Row):
    """A page of a broker's replicas by topic and partition.

    Attributes:
        total: the number of replicas in the requested states.
        expected: the same by the broker's row; it differs while a batch is being processed.
        note: what is unknown, as text.
    """

    broker: int
    total: int
    expected: int | None
    replicas: tuple[PendingReplica, ...]
    next: str | None
    note: str | None


class GateVerdict(Row):
    """One evaluation of guards or gate.

    Attributes:
        part: `already`, `needs` (the guards) or `opens_when` (the gate).
        facts: its basis: metadata offset, znodes, when the disks were polled.
    """

    id: str
    at_ms: Moment
    checkpoint: str
    part: Part
    verdict: Verdict
    findings: tuple[RecordedFinding, ...]
    facts: Mapping[str, object]
    hash: str


class Decision(Row):
    """An entry of the audit trail about the checkpoint, except an evaluation."""

    id: str
    at_ms: Moment
    checkpoint: str
    kind: str
    by: str | None
    reason: str | None
    text: str
    hash: str


class GateEvidence(Row):
    """The audit trail of a checkpoint and its instances, the newest first, bounded.

    Attributes:
        older: whether older entries are left out.
    """

    checkpoint: str
    title: str | None
    explain: str | None
    judgements: tuple[GateVerdict, ...]
    decisions: tuple[Decision, ...]
    older: bool


class ActionRequest(Row):
    """An operator's action; the audit trail keeps who and why.

    Attributes:
        checkpoint: that the action concerns, unless it concerns the whole execution.
        at: `ExecutionState.at` of the action as the operator saw it.
        basis: `ExecutionState.basis` as the operator saw it, for an approval.
        confirm: the cluster's name: to approve an irreversible or destructive step, to skip, to
            roll back, to abort.
    """

    who: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    reason: Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
    checkpoint: Annotated[str, Field(max_length=200)] | None = None
    at: Annotated[str, Field(max_length=64)] | None = None
    basis: Annotated[str, Field(max_length=64)] | None = None
    confirm: Annotated[str, Field(max_length=200)] | None = None


class ActionResult(Row):
    """The action is in the audit trail; `said`: the output of the command."""

    said: tuple[str, ...]


class Problem(Row):
    """An error, and its fix."""

    code: str
    message: str
    mend: str | None = None


class Failure(Row):
    """The body of every error."""

    error: Problem


SHAPES: Final[tuple[type[BaseModel], ...]] = (
    State,
    Change,
    Beat,
    Session,
    Timeline,
    EventPage,
    PendingPage,
    GateEvidence,
    ActionRequest,
    ActionResult,
    Failure,
)


@cache
def schema() -> dict[str, object]:
    """Return the JSON Schema; each shape is in `$defs` by its name."""
    # `validation`, because the page gets moments as they are here: in ms.
    _, found = models_json_schema(
        [(each, "validation") for each in SHAPES], by_alias=False, title="The console of kraftgate"
    )
    return {"$schema": DIALECT, **found}


@cache
def schema_text() -> str:
    return json.dumps(schema())
