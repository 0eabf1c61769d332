"""Checks the rollback paths: one from each checkpoint that can be undone, and none unused.

After an irreversible checkpoint a rollback may undo what followed it. It must be a path of its own:
one that also starts before that checkpoint would undo what cannot be undone.
"""

from collections.abc import Iterator, Mapping

from migration.values.nearest import did_you_mean
from orchestrator.runbook.model import NO_ROLLBACK, ForwardCheckpoint, Runbook
from orchestrator.runbook.places import Place, Wrong, all_before, forward


def rollbacks(book: Runbook) -> Iterator[Wrong]:
    """Yield checkpoints without a rollback path, and paths that are unknown, cyclic or unused."""
    ids = [way.id for way in book.rollbacks]
    by_id = {place.checkpoint.id: place for place in forward(book)}
    after = {way.id: way.then for way in book.rollbacks}
    for place in by_id.values():
        yield from _from(place, ids, _ended_by(place, by_id))
        yield from _across(place, by_id, after)
    yield from _ways(book, ids)
    yield from _unused(book)


def _ended_by(place: Place, by_id: dict[str, Place]) -> str | None:
    """Return an earlier checkpoint that cannot be undone, the last one; None: there is none."""
    before = all_before(place, by_id)
    found = [id_ for id_ in by_id if id_ in before and by_id[id_].checkpoint.irreversible]
    return found[-1] if found else None


def _across(
    place: Place, by_id: dict[str, Place], after: Mapping[str, str | None]
) -> Iterator[Wrong]:
    """Yield a rollback that starts both before and after an irreversible checkpoint."""
    ended_by = _ended_by(place, by_id)
    if ended_by is None:
        return
    own = _paths(place, after)
    for each in by_id.values():
        shared = own & _paths(each, after)
        if shared and ended_by not in all_before(each, by_id):
            what = (
                f"`{min(shared)}` is the rollback of `{each.checkpoint.id}`, too, and"
                f" `{ended_by}` between the two is irreversible: name a rollback that undoes only"
                f" what follows `{ended_by}`, or remove it"
            )
            yield (*place.path, "rollback"), what
            return


def _paths(place: Place, after: Mapping[str, str | None]) -> frozenset[str]:
    """Return the rollback path of a checkpoint and those that continue it."""
    checkpoint, found = place.checkpoint, list[str]()
    following = checkpoint.rollback if isinstance(checkpoint, ForwardCheckpoint) else None
    while following is not None and following in after and following not in found:
        found.append(following)
        following = after[following]
    return frozenset(found)


def _from(place: Place, ids: list[str], ended_by: str | None) -> Iterator[Wrong]:
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
    elif rollback not in (None, NO_ROLLBACK, *ids):
        near = did_you_mean(str(rollback), ids) if ids else "the file has none: write `rollbacks`"
        what = f"there is no rollback `{rollback}`; {near}"
    if what is not None:
        yield (*place.path, "rollback"), what
    if reason is not None and rollback != NO_ROLLBACK:
        what = f"`rollback_reason` belongs to rollback: {NO_ROLLBACK} only: remove it"
        yield (*place.path, "rollback_reason"), what


def _ways(book: Runbook, ids: list[str]) -> Iterator[Wrong]:
    after = {way.id: way.then for way in book.rollbacks}
    for position, way in enumerate(book.rollbacks):
        path = ("rollbacks", position)
        if way.id == NO_ROLLBACK:
            what = f"a rollback cannot have the id `{NO_ROLLBACK}`: it means that there is none"
            yield (*path, "id"), what
        if way.then is None:
            continue
        if way.then not in ids:
            what = f"there is no rollback `{way.then}`; {did_you_mean(way.then, ids)}"
            yield (*path, "then"), what
        elif _comes_back(way.id, after):
            what = f"`{way.id}` leads back to itself: `then` must not form a cycle"
            yield (*path, "then"), what


def _comes_back(id_: str, after: dict[str, str | None]) -> bool:
    following, steps = after[id_], 0
    while following is not None and following != id_ and steps <= len(after):
        following, steps = after.get(following), steps + 1
    return following == id_


def _unused(book: Runbook) -> Iterator[Wrong]:
    after = {way.id: way.then for way in book.rollbacks}
    used: set[str] = set()
    for checkpoint in book.checkpoints:
        following = checkpoint.rollback
        while following in after and following not in used:
            used.add(following)
            following = after[following]
    for position, way in enumerate(book.rollbacks):
        if way.id not in used:
            what = (
                f"no checkpoint uses the rollback `{way.id}`: name it in a `rollback`, or remove it"
            )
            yield ("rollbacks", position, "id"), what
