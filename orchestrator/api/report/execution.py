"""The report on executions of runbooks: checkpoints, what held them, steps, decisions."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import Field

from orchestrator.api.shape import Moment, Shape

HoldKind: TypeAlias = Literal[
    "guard", "gate", "look", "step", "decision", "approval", "pause", "lock", "not_running"
]
Result: TypeAlias = Literal["passed", "not needed", "skipped", "turned back", "stands", "aborted"]


class Decision(Shape):
    """An operator's decision, or an approval that expired."""

    at: Moment
    walk: int | None = Field(description="Which execution, counted from 1.")
    kind: str = Field(description="The audit entry's kind, such as approved.")
    checkpoint: str | None
    who: str | None = Field(description="null: Kraftgate itself.")
    login: str | None
    host: str | None
    reason: str
    basis: Mapping[str, str] = Field(description="The state that an approval was given for.")
    entry: int = Field(description="The audit entry's number.")
    hash: str = Field(description="The audit entry's hash.")


class Hold(Shape):
    """Something that held a checkpoint, over all its occurrences."""

    kind: HoldKind = Field(
        description="look: satisfied by the last data; only the confirmation by newer data was"
        " missing."
    )
    what: str = Field(description="The condition, or a text.")
    verdict: str | None = Field(description="Of a condition: the gravest.")
    reason: str = Field(description="Its first text.")
    last_reason: str = Field(description="Its last text.")
    began_at: Moment
    ended_at: Moment | None = Field(description="null: it still holds.")
    times: int = Field(description="How often it began.")
    duration_ms: int = Field(description="The sum over all occurrences.")


class StepRun(Shape):
    """A step: performed by a command, or shown for a person to perform."""

    attempt: int | None = Field(description="null: by hand.")
    argv: tuple[str, ...] = Field(description="The command, without secrets; empty: by hand.")
    text: str | None = Field(description="The instructions for a step by hand.")
    began_at: Moment
    ended_at: Moment | None
    took_ms: int | None
    outcome: Literal[
        "succeeded", "failed", "unknown", "not started", "running", "shown", "by hand"
    ] = Field(description="shown: for an operator; it is not known to be done.")
    how: str = Field(description="As text, such as: ended with exit code 1.")
    exit_code: int | None
    output: str = Field(description="Its last part, without secrets.")
    output_sha256: str | None
    decided: str | None = Field(description="An operator's decision: done, repeat or execute.")


class CheckpointAccount(Shape):
    """One checkpoint of an execution; with `for_each`, for one broker or controller."""

    id: str
    title: str | None = Field(description="null: the runbook's text is no longer available.")
    way: str | None = Field(description="The rollback path that it is on; null: the forward path.")
    entered_at: Moment
    ended_at: Moment | None
    duration_ms: int | None = Field(description="null: unknown, because the clock was set back.")
    result: Result
    by: tuple[str, ...] = Field(
        description="Whose approvals were in force, and who skipped it: one entry for each login."
    )
    holds: tuple[Hold, ...] = Field(description="The longest first.")
    steps: tuple[StepRun, ...]


class Orchestrator(Shape):
    """A process that executed the runbook."""

    owner: str
    version: str
    execute: bool = Field(description="Whether commands performed the steps.")
    hooks_sha256: str | None
    began_at: Moment
    ended_at: Moment | None = Field(description="null: it still runs, or was killed.")


class Noticed(Shape):
    """A change in the cluster that no step of the execution made."""

    at: Moment
    text: str
    broker: int | None


class ExecutionAccount(Shape):
    """One execution of a runbook."""

    number: int = Field(description="Counted from 1.")
    runbook: str
    runbook_sha256: str = Field(description="Of the text that was executed.")
    runbook_kept: bool = Field(
        description="Whether runbooks/SHA256.yaml of the state directory is that text."
    )
    began_at: Moment
    ended_at: Moment | None
    duration_ms: int | None = Field(description="null: unknown, because the clock was set back.")
    outcome: Literal["completed", "rolled-back", "aborted", "unknown"] | None = Field(
        description="null: it has not ended; unknown: the audit trail is verified only to a point"
        " before its end, and `duration_ms` and `stands_at` are those at that point."
    )
    way_back: str | None = Field(description="The rollback path that was taken.")
    turned_at: str | None = Field(description="The checkpoint at which the rollback started.")
    stands_at: str | None = Field(description="The current checkpoint.")
    place: str = Field(
        description="Where that is, such as checkpoint 6 of 9, broker 2 of 3; empty: not reported."
    )
    waiting_for: tuple[str, ...] = Field(description="Why it does not continue, as last reported.")
    checkpoints: tuple[CheckpointAccount, ...]
    orchestrators: tuple[Orchestrator, ...]
    unexpected: tuple[Noticed, ...]
