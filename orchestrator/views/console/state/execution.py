"""The execution for the page: its checkpoint, and every checkpoint of its path."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from orchestrator.api.console.execution import (
    CheckpointTold,
    FindingTold,
    Instance,
    Unexpected,
    WalkState,
)
from orchestrator.audit.execution.entries import RecordedFinding
from orchestrator.audit.execution.state import BEHIND, STAGE_WORDS, Stage
from orchestrator.execution.route import checkpoints
from orchestrator.run.execution_status import PlaceTold, WalkTold
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Checkpoint

_MINUTE_MS: Final = 60_000

Can = Literal["approve", "pause", "resume", "abort"]


def walk_state(walk: WalkTold) -> WalkState:
    """Return the state of the execution."""
    return WalkState(
        runbook=walk.runbook,
        checkpoint=walk.checkpoint,
        title=walk.title,
        stage=walk.stage,
        stage_text=None if walk.stage is None else STAGE_WORDS.get(walk.stage),
        holds=walk.holds,
        findings=tuple(finding(each) for each in walk.findings),
        do=walk.shown,
        asks=walk.asks,
        path=walk.path,
        paused=walk.paused,
        outcome=walk.outcome,
        execute=walk.execute,
        people=walk.people,
        approved_by=walk.approved_by,
        can=tuple(_can(walk)),
        unexpected=tuple(Unexpected(at_ms=at_ms, text=text) for at_ms, text in walk.unexpected),
        told_ms=walk.at_ms - walk.at_ms % _MINUTE_MS,
    )


def finding(found: RecordedFinding) -> FindingTold:
    """Return the finding about one condition."""
    return FindingTold(
        condition=found.condition,
        verdict=found.verdict.value,
        reason=found.reason,
        evidence=found.evidence,
        broker=found.broker,
    )


def _can(walk: WalkTold) -> Iterator[Can]:
    if walk.outcome is not None:
        return
    if walk.checkpoint is not None and walk.people > len(walk.approved_by):
        yield "approve"
    yield "pause" if walk.paused is None else "resume"
    yield "abort"


def checkpoints_told(walk: WalkTold, loaded: Loaded) -> Iterator[CheckpointTold]:
    """Yield the checkpoints of the path as in the runbook, with the entered instances."""
    way: list[Checkpoint] = list(checkpoints(loaded.runbook, None))
    if walk.path is not None:  # the entered checkpoints of the way ahead, then the rollback's
        entered = {each.id.partition("[")[0] for each in walk.places}
        way = [each for each in way if each.id in entered]
        way += checkpoints(loaded.runbook, walk.path)
    for each in way:
        yield _told(each, walk.places)


def _told(checkpoint: Checkpoint, places: Sequence[PlaceTold]) -> CheckpointTold:
    place = next((each for each in places if each.id == checkpoint.id), None)
    instances = tuple(_instances(checkpoint, places))
    return CheckpointTold(
        id=checkpoint.id,
        title=checkpoint.title,
        explain=checkpoint.explain,
        stage=_stage(instances) if place is None else place.stage,
        how=None if place is None else place.how,
        entered_ms=None if place is None else place.entered_ms,
        ended_ms=None if place is None else place.ended_ms,
        for_each=checkpoint.for_each,
        instances=instances,
        irreversible=checkpoint.irreversible,
        destructive=checkpoint.destructive,
        people=_people(checkpoint),
        step=None if checkpoint.step is None else checkpoint.step.name,
        needs=checkpoint.needs,
        opens_when=checkpoint.opens_when,
    )


def _people(checkpoint: Checkpoint) -> int:
    approval = checkpoint.approval
    return 0 if approval is None or approval.given_at is not None else approval.people


def _instances(checkpoint: Checkpoint, places: Sequence[PlaceTold]) -> Iterator[Instance]:
    prefix = f"{checkpoint.id}["
    for each in places:
        if each.id.startswith(prefix):
            yield Instance(
                id=each.id,
                of=int(each.id[len(prefix) : -1]),
                stage=each.stage,
                how=each.how,
                entered_ms=each.entered_ms,
                ended_ms=each.ended_ms,
            )


def _stage(instances: Sequence[Instance]) -> Stage:
    """Return the stage of a checkpoint with instances: that of the first unfinished instance."""
    if not instances:
        return Stage.AHEAD
    return next((each.stage for each in instances if each.stage not in BEHIND), Stage.ENTERED)
