"""Checks the rollback paths: one from each checkpoint that can be undone, and none unused.

After an irreversible checkpoint a rollback may undo what followed it. It must be a path of its own:
one that also starts before that checkpoint would undo what cannot be undone.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from migration.values.nearest import did_you_mean
from orchestrator.runbook.model import NO_ROLLBACK, ForwardCheckpoint, Runbook
from orchestrator.runbook.places import Place, Wrong, all_before, forward

_After: TypeAlias = Mapping[str, str | None]
"""The path that continues each rollback path, by their ids; None: the rollback ends there."""


def rollbacks(book: Runbook) -> Iterator[Wrong]:
    """Yield checkpoints without a rollback path, and paths that are unknown, cyclic or unused."""
    by_id = {place.checkpoint.id: place for place in forward(book)}
    after = {way.id: way.then for way in book.rollbacks}
    for place in by_id.values():
        yield from _from(place, after, _ended_by(place, by_id))
        yield from _across(place, by_id, after)
    yield from _ways(book, after)
    yield from _unused(book, after)


def _ended_by(place: Place, by_id: dict[str, Place]) -> str | None:
    """Return the last earlier checkpoint that cannot be undone; None: there is none."""
    before = all_before(place, by_id)
    found = [id_ for id_ in by_id if id_ in before and by_id[id_].checkpoint.irreversible]
    return found[-1] if found else None


def _across(place: Place, by_id: dict[str, Place], after: _After) -> Iterator[Wrong]:
    """Yield a rollback that starts both before and after an irreversible checkpoint."""
    ended_by = _ended_by(place, by_id)
    if ended_by is None:
        return
    own = _paths(place, after)
    for each in by_id.values():
        shared = own & _paths(each, after)
        if shared and ended_by not in all_before(each, by_id):
            what = (
                f"`{min(shared)}` is also the rollback of `{each.checkpoint.id}`, and `{ended_by}`,"
                f" which comes between `{each.checkpoint.id}` and `{place.checkpoint.id}`, is"
                f" irreversible: name a rollback that undoes only what follows `{ended_by}`, or"
                " remove `rollback`"
            )
            yield (*place.path, "rollback"), what
            return


def _paths(place: Place, after: _After) -> frozenset[str]:
    """Return the rollback path of a checkpoint and those that continue it."""
    checkpoint = place.checkpoint
    return _chain(checkpoint.rollback if isinstance(checkpoint, ForwardCheckpoint) else None, after)


def _chain(first: str | None, after: _After) -> frozenset[str]:
    """Return a rollback path and those that continue it; the paths may form a cycle."""
    found = set[str]()
    while first is not None and first in after and first not in found:
        found.add(first)
        first = after[first]
    return frozenset(found)


def _from(place: Place, after: _After, ended_by: str | None) -> Iterator[Wrong]:
    checkpoint = place.checkpoint
    if not isinstance(checkpoint, ForwardCheckpoint):
        return
    rollback, reason = checkpoint.rollback, checkpoint.rollback_reason
    what = None
    if rollback is None and ended_by is None and not checkpoint.irreversible:
        what = (
            f"`{checkpoint.id}` has no rollback: name one with `rollback`, or write"
            f" rollback: {NO_ROLLBACK} with `rollback_reason`"
        )
    elif rollback == NO_ROLLBACK and reason is None:
        what = f"`{checkpoint.id}` has rollback: {NO_ROLLBACK} without a `rollback_reason`: say why"
    elif rollback not in (None, NO_ROLLBACK, *after):
        fix = "the file has none: write `rollbacks`"
        near = did_you_mean(str(rollback), after) if after else fix
        what = f"there is no rollback `{rollback}`; {near}"
    if what is not None:
        yield (*place.path, "rollback"), what
    if reason is not None and rollback != NO_ROLLBACK:
        what = f"`rollback_reason` belongs to rollback: {NO_ROLLBACK} only: remove it"
        yield (*place.path, "rollback_reason"), what


def _ways(book: Runbook, after: _After) -> Iterator[Wrong]:
    for position, way in enumerate(book.rollbacks):
        path = ("rollbacks", position)
        if way.id == NO_ROLLBACK:
            what = f"`{NO_ROLLBACK}` is reserved: it means that a checkpoint has no rollback"
            yield (*path, "id"), what
        if way.then is None:
            continue
        if way.then not in after:
            what = f"there is no rollback `{way.then}`; {did_you_mean(way.then, after)}"
            yield (*path, "then"), what
        elif way.id in _chain(way.then, after):
            what = f"`{way.id}` leads back to itself: `then` must not form a cycle"
            yield (*path, "then"), what


def _unused(book: Runbook, after: _After) -> Iterator[Wrong]:
    used = {way for each in book.checkpoints for way in _chain(each.rollback, after)}
    for position, way in enumerate(book.rollbacks):
        if way.id not in used:
            what = (
                f"no checkpoint uses the rollback `{way.id}`: name it in a `rollback`, or remove it"
            )
            yield ("rollbacks", position, "id"), what
