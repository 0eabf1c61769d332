"""The walk in the console's model: where it stands, its checkpoints, what a gate rests on."""

from collections.abc import Mapping
from typing import Literal

from orchestrator.api.console.shape import Ms, Shape, Verdict
from orchestrator.audit.execution.state import Stage


class FindingTold(Shape):
    """One condition, judged."""

    condition: str
    verdict: Verdict
    reason: str
    evidence: tuple[str, ...]
    broker: int | None


class Instance(Shape):
    """A checkpoint, for one broker or controller: `id` is like brokers-kraft[3]."""

    id: str
    of: int
    stage: Stage
    how: str | None
    entered_ms: Ms | None
    ended_ms: Ms | None


class CheckpointTold(Shape):
    """A checkpoint of the way, ahead or back, in the order in which it is walked.

    Attributes:
        stage: of one with `for_each`: that of its instance that is under way; passed when all are.
        how: how it was passed: `opened`, `already`; or `turned back`.
        for_each: it has an instance for each of these; `instances` are those that were entered.
        people: how many must approve its step; 0: nobody, or those of an earlier checkpoint.
        destructive: its step removes data, or what holds them.
        step: the step's name; null: only the gate is waited for.
        needs, opens_when: the guards and the gate, as the runbook has them.
    """

    id: str
    title: str
    explain: str
    stage: Stage
    how: str | None
    entered_ms: Ms | None
    ended_ms: Ms | None
    for_each: Literal["broker", "controller"] | None
    instances: tuple[Instance, ...]
    irreversible: bool
    destructive: bool
    people: int
    step: str | None
    needs: tuple[str, ...]
    opens_when: tuple[str, ...]


class Unexpected(Shape):
    """What the cluster showed that no step did."""

    at_ms: Ms
    text: str


class WalkState(Shape):
    """The walk through the runbook.

    Attributes:
        checkpoint: at which it stands; null: it has ended, or is between two.
        stage_text: the stage in the terminal's words.
        holds: why it does not go on, the gravest first.
        findings: what these rest on: the present guards or gate.
        do: what a person is to do by hand.
        asks: what a person must decide (kraftgate decide).
        path: the way back that is taken; null: the way ahead.
        paused: by whom and why.
        outcome: completed, rolled-back or aborted; null: it goes on.
        execute: whether steps are done by hooks.
        people: how many must approve the step before it is begun; 0: nobody need.
        approved_by: who did, as far as that is in force.
        can: what `approve`, `pause`, `resume`, `abort` would be taken now.
        told_ms: when the walk last said this, to the minute.
    """

    runbook: str
    checkpoint: str | None
    title: str | None
    stage: Stage | None
    stage_text: str | None
    holds: tuple[str, ...]
    findings: tuple[FindingTold, ...]
    do: str | None
    asks: str | None
    path: str | None
    paused: str | None
    outcome: str | None
    execute: bool
    people: int
    approved_by: tuple[str, ...]
    can: tuple[Literal["approve", "pause", "resume", "abort"], ...]
    unexpected: tuple[Unexpected, ...]
    told_ms: Ms


class Judgement(Shape):
    """Guards or gate as they were judged once.

    Attributes:
        part: `already`, `needs` (the guards) or `opens_when` (the gate).
        facts: what it rests on: metadata offset, znodes, when the disks were looked at.
    """

    id: str
    at_ms: Ms
    checkpoint: str
    part: Literal["already", "needs", "opens_when"]
    verdict: Verdict
    findings: tuple[FindingTold, ...]
    facts: Mapping[str, object]
    hash: str


class Decision(Shape):
    """An entry of the audit trail about the checkpoint that is no judgement."""

    id: str
    at_ms: Ms
    checkpoint: str
    kind: str
    by: str | None
    reason: str | None
    text: str
    hash: str


class GateEvidence(Shape):
    """What the audit trail has of a checkpoint and its instances; the newest first, bounded.

    Attributes:
        older: whether there are older entries that are left out.
    """

    checkpoint: str
    title: str | None
    explain: str | None
    judgements: tuple[Judgement, ...]
    decisions: tuple[Decision, ...]
    older: bool
