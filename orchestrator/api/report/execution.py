"""The report on walks through runbooks: checkpoints, what held them, steps, who decided."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from orchestrator.api.shape import Moment, Shape


class Decision(Shape):
    """What a person said, or what ended it."""

    at: Moment
    walk: int | None = Field(description="Which walk, counted from 1.")
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
    """Something that held a checkpoint, all its times together."""

    kind: Literal[
        "guard", "gate", "look", "step", "decision", "approval", "pause", "lock", "not_running"
    ] = Field(
        description="look: satisfied by the last data; only the confirmation by newer data was"
        " missing."
    )
    what: str = Field(description="The condition, or words.")
    verdict: str | None = Field(description="Of a condition: the gravest.")
    reason: str = Field(description="As it was first given.")
    last_reason: str = Field(description="As it was last given.")
    began_at: Moment
    ended_at: Moment | None = Field(description="null: it holds still.")
    times: int = Field(description="How many times it began.")
    duration_ms: int = Field(description="All of them together.")


class StepRun(Shape):
    """A step that was taken: by a command, or shown for a person to do."""

    attempt: int | None = Field(description="null: by hand.")
    argv: tuple[str, ...] = Field(description="The command, without secrets; none: by hand.")
    text: str | None = Field(description="The instructions for a step by hand.")
    began_at: Moment
    ended_at: Moment | None
    took_ms: int | None
    outcome: Literal["succeeded", "failed", "unknown", "not started", "running", "by hand"]
    how: str = Field(description="In words, such as: ended with exit code 1.")
    exit_code: int | None
    output: str = Field(description="Its last part, without secrets.")
    output_sha256: str | None
    decided: str | None = Field(description="What a person said of it: done, or repeat.")


class CheckpointAccount(Shape):
    """One checkpoint of an execution; with `for_each`, for one broker or controller."""

    id: str
    title: str | None = Field(description="null: the runbook's text is not there any more.")
    way: str | None = Field(description="The rollback path that it is on; null: the forward path.")
    entered_at: Moment
    ended_at: Moment | None
    duration_ms: int
    result: Literal["passed", "not needed", "skipped", "turned back", "stands", "aborted"]
    by: tuple[str, ...] = Field(description="Who approved it, or skipped it.")
    holds: tuple[Hold, ...] = Field(description="The longest first.")
    steps: tuple[StepRun, ...]


class Orchestrator(Shape):
    """A process that walked."""

    owner: str
    version: str
    execute: bool = Field(description="Whether steps were done by commands.")
    hooks_sha256: str | None
    began_at: Moment
    ended_at: Moment | None = Field(description="null: it walks still, or was killed.")


class Noticed(Shape):
    """A change in the cluster that no step of the execution made."""

    at: Moment
    text: str
    broker: int | None


class WalkAccount(Shape):
    """One walk through a runbook."""

    number: int = Field(description="Counted from 1.")
    runbook: str
    runbook_sha256: str = Field(description="Of the text that was walked.")
    runbook_kept: bool = Field(
        description="Whether runbooks/SHA256.yaml of the state directory is that text."
    )
    began_at: Moment
    ended_at: Moment | None
    duration_ms: int
    outcome: Literal["completed", "rolled-back", "aborted"] | None = Field(
        description="null: it goes on."
    )
    way_back: str | None = Field(description="The rollback path that was taken.")
    turned_at: str | None = Field(description="The checkpoint from which.")
    stands_at: str | None = Field(description="The checkpoint before which it stands.")
    waiting_for: tuple[str, ...] = Field(description="Why it does not go on, as last said.")
    checkpoints: tuple[CheckpointAccount, ...]
    orchestrators: tuple[Orchestrator, ...]
    unexpected: tuple[Noticed, ...]
