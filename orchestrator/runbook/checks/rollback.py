"""Checks the rollback paths: one from each checkpoint that can be undone, and none unused."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from migration.values.nearest import did_you_mean
from orchestrator.config.yaml_lines import Problem
from orchestrator.runbook.model import NO_ROLLBACK, ForwardCheckpoint
from orchestrator.runbook.places import Place, all_before, forward

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded


def ways_back(loaded: "Loaded") -> Iterator[Problem]:
    """Yield checkpoints without a rollback path, and paths that are unknown, cyclic or unused."""
    ids = [way.id for way in loaded.runbook.rollbacks]
    by_id = {place.checkpoint.id: place for place in forward(loaded.runbook)}
    for place in by_id.values():
        yield from _from(loaded, place, ids, _ended_by(place, by_id))
    yield from _ways(loaded, ids)
    yield from _unused(loaded)


def _ended_by(place: Place, by_id: dict[str, Place]) -> str | None:
    """Return an earlier checkpoint that makes a rollback impossible; None: there is none."""
    before = all_before(place, by_id)
    return next(
        (id_ for id_ in by_id if id_ in before and by_id[id_].checkpoint.irreversible), None
    )


def _from(
    loaded: "Loaded", place: Place, ids: list[str], ended_by: str | None
) -> Iterator[Problem]:
    checkpoint = place.checkpoint
    if not isinstance(checkpoint, ForwardCheckpoint):
        return
    rollback, reason = checkpoint.rollback, checkpoint.rollback_reason
    line = loaded.line(*place.path, "rollback")
    if ended_by is not None:
        if rollback not in (None, NO_ROLLBACK):
            what = (
                f"no rollback is possible here: `{ended_by}` before it is irreversible; remove it"
            )
            yield Problem(line=line, what=what)
    elif rollback is None and not checkpoint.irreversible:
        what = (
            f"`{checkpoint.id}` has no rollback: name one with `rollback`, or write"
            f" rollback: {NO_ROLLBACK} with `rollback_reason`"
        )
        yield Problem(line=line, what=what)
    elif rollback == NO_ROLLBACK and reason is None:
        what = f"`{checkpoint.id}` has rollback: {NO_ROLLBACK} without a `rollback_reason`: say why"
        yield Problem(line=line, what=what)
    elif rollback not in (None, NO_ROLLBACK, *ids):
        what = f"there is no rollback `{rollback}`; {_near(rollback, ids)}"
        yield Problem(line=line, what=what)
    if reason is not None and rollback != NO_ROLLBACK:
        what = f"`rollback_reason` belongs to rollback: {NO_ROLLBACK} only: remove it"
        yield Problem(line=loaded.line(*place.path, "rollback_reason"), what=what)


def _near(rollback: str | None, ids: list[str]) -> str:
    return did_you_mean(rollback or "", ids) if ids else "the file has none: write `rollbacks`"


def _ways(loaded: "Loaded", ids: list[str]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    after = {way.id: way.then for way in loaded.runbook.rollbacks}
    for position, way in enumerate(loaded.runbook.rollbacks):
        line = loaded.line("rollbacks", position, "id")
        if way.id == NO_ROLLBACK:
            what = f"a rollback cannot have the id `{NO_ROLLBACK}`: it means that there is none"
            yield Problem(line=line, what=what)
        if way.id in first:
            what = f"the id `{way.id}` is taken (line {first[way.id]}): choose another"
            yield Problem(line=line, what=what)
        first.setdefault(way.id, line)
        if way.then is None:
            continue
        line = loaded.line("rollbacks", position, "then")
        if way.then not in ids:
            yield Problem(
                line=line, what=f"there is no rollback `{way.then}`; {did_you_mean(way.then, ids)}"
            )
        elif _comes_back(way.id, after):
            what = f"`{way.id}` goes on with itself in the end: `then` must not make a circle"
            yield Problem(line=line, what=what)


def _comes_back(id_: str, after: dict[str, str | None]) -> bool:
    following, steps = after[id_], 0
    while following is not None and following != id_ and steps <= len(after):
        following, steps = after.get(following), steps + 1
    return following == id_


def _unused(loaded: "Loaded") -> Iterator[Problem]:
    after = {way.id: way.then for way in loaded.runbook.rollbacks}
    used: set[str] = set()
    for checkpoint in loaded.runbook.checkpoints:
        following = checkpoint.rollback
        while following in after and following not in used:
            used.add(following)
            following = after[following]
    for position, way in enumerate(loaded.runbook.rollbacks):
        if way.id not in used:
            what = (
                f"no checkpoint uses the rollback `{way.id}`: name it in a `rollback`, or remove it"
            )
            yield Problem(line=loaded.line("rollbacks", position, "id"), what=what)
