"""Checks that steps that cannot be undone are approved and begin only after a soak."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from migration.assessment.conditions import SOAK, call_of
from migration.values.nearest import did_you_mean
from orchestrator.runbook.model import Approval, Checkpoint, Runbook
from orchestrator.runbook.places import (
    Place,
    Wrong,
    all_before,
    forward,
    in_turn,
    rollback_paths,
)

Mark: TypeAlias = Literal["irreversible", "destructive"]
MARKS: Final[tuple[Mark, ...]] = ("irreversible", "destructive")
_PEOPLE: Final[Mapping[Mark, int]] = {"irreversible": 2, "destructive": 1}
STEPS: Final[Mapping[str, Mark]] = {
    "finalize": "irreversible",
    "raise-metadata-version": "irreversible",
    "decommission-zookeeper": "destructive",
    "deprovision-controllers": "destructive",
    "delete-znodes": "destructive",
    "replace-disk": "destructive",
    "remove-log-dirs": "destructive",
}
"""Steps of the bundled runbooks and hooks; a copy of a runbook has the same names."""


def final(book: Runbook) -> Iterator[Wrong]:
    """Yield steps that cannot be undone and lack the mark, the approval or a soak before them."""
    for places in (forward(book), *rollback_paths(book)):
        by_id = {place.checkpoint.id: place for place in places}
        turns = in_turn(places)
        for place in places:
            yield from _marked(place)
            yield from _covered(place, by_id)
            mark = _mark(place.checkpoint)
            if mark is not None:
                yield from _approved(place, mark)
                yield from _soaked(place, mark, turns, by_id)


def _mark(checkpoint: Checkpoint) -> Mark | None:
    return next((mark for mark in MARKS if getattr(checkpoint, mark)), None)


def _marked(place: Place) -> Iterator[Wrong]:
    checkpoint = place.checkpoint
    mark = None if checkpoint.step is None else STEPS.get(checkpoint.step.name)
    if checkpoint.step is not None and mark is not None and _mark(checkpoint) is None:
        what = f"the step `{checkpoint.step.name}` is {mark}: add {mark}: true"
        yield (*place.path, "step"), what


def _approved(place: Place, mark: Mark) -> Iterator[Wrong]:
    if place.checkpoint.approval is None:
        what = (
            f"`{place.checkpoint.id}` is {mark} and has no approval: add approval:"
            f" {{people: {_PEOPLE[mark]}}}"
        )
        yield (*place.path, mark), what


def _covered(place: Place, by_id: Mapping[str, Place]) -> Iterator[Wrong]:
    """Yield an approval whose `given_at` names a checkpoint that cannot give it."""
    approval = place.checkpoint.approval
    if approval is None or approval.given_at is None:
        return
    before = all_before(place, by_id)
    named = by_id.get(approval.given_at)
    what = None
    if named is None or approval.given_at not in before:
        near = did_you_mean(approval.given_at, sorted(before)) if before else "there is none"
        what = f"`given_at` names no checkpoint before this one: `{approval.given_at}`; {near}"
    elif named.checkpoint.for_each is not None or not _gives(named.checkpoint, approval):
        what = (
            f"`{approval.given_at}` does not give this approval: its own approval must be given"
            f" once, by {approval.people} or more people"
        )
    if what is not None:
        yield (*place.path, "approval", "given_at"), what


def _gives(checkpoint: Checkpoint, wanted: Approval) -> bool:
    given = checkpoint.approval
    return given is not None and given.given_at is None and given.people >= wanted.people


def _soaked(
    place: Place,
    mark: Mark,
    turns: Sequence[Place],
    by_id: Mapping[str, Place],
) -> Iterator[Wrong]:
    checkpoint = place.checkpoint
    given_at = None if checkpoint.approval is None else checkpoint.approval.given_at
    covering = by_id.get(given_at) if given_at is not None else None
    if covering is not None and _mark(covering.checkpoint) is not None:
        return  # one approval and one soak for both, since nothing may wait between them
    if _soaks(checkpoint.needs) or _soaks_before(place, turns, by_id):
        return
    what = (
        f"no soak precedes `{checkpoint.id}`, which is {mark}: add soak(10m) to its `needs`, or"
        " to the gate of a checkpoint before it"
    )
    path = "needs" if checkpoint.needs else mark
    yield (*place.path, path), what


def _soaks_before(place: Place, turns: Sequence[Place], by_id: Mapping[str, Place]) -> bool:
    """Return whether a gate soaks between this checkpoint and the last that cannot be undone."""
    before = all_before(place, by_id)
    for earlier in reversed([each for each in turns if each.checkpoint.id in before]):
        if _soaks(earlier.checkpoint.opens_when):
            return True
        if _mark(earlier.checkpoint) is not None:
            return False
    return False


def _soaks(texts: Sequence[str]) -> bool:
    calls = (call_of(text) for text in texts)
    return any(call is not None and call.name == SOAK for call in calls)
