"""Checks the order of checkpoints: every checkpoint can be reached."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from migration.values.nearest import did_you_mean
from orchestrator.config.yaml_lines import Problem
from orchestrator.runbook.places import Place, backward, forward, in_turn

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded


def order(loaded: "Loaded") -> Iterator[Problem]:
    """Yield unknown ids in `after`, and cycles."""
    yield from _one_way(loaded, forward(loaded.runbook))
    ways: dict[str, list[Place]] = {}
    for place in backward(loaded.runbook):
        if place.rollback is not None:
            ways.setdefault(place.rollback.id, []).append(place)
    for places in ways.values():
        yield from _one_way(loaded, places)


def _one_way(loaded: "Loaded", places: Sequence[Place]) -> Iterator[Problem]:
    ids = [place.checkpoint.id for place in places]
    for place in places:
        for position, id_ in enumerate(place.checkpoint.after or ()):
            if id_ not in ids:
                what = f"`after` names no checkpoint of this way: `{id_}`; {did_you_mean(id_, ids)}"
                yield Problem(line=loaded.line(*place.path, "after", position), what=what)
    passed = {place.checkpoint.id for place in in_turn(places)}
    stuck = [place for place in places if place.checkpoint.id not in passed]
    for circle in _circles(stuck):
        names = " -> ".join(f"`{place.checkpoint.id}`" for place in (*circle, circle[0]))
        what = f"can never be reached: each waits for the next one: {names}"
        yield Problem(line=loaded.line(*circle[0].path, "after"), what=what)


def _circles(stuck: Sequence[Place]) -> Iterator[tuple[Place, ...]]:
    """Yield each cycle once, starting at its first checkpoint in the file."""
    by_id = {place.checkpoint.id: place for place in stuck}
    told: set[str] = set()
    for start in stuck:
        walked: dict[str, Place] = {}
        id_ = start.checkpoint.id
        while id_ not in walked:
            walked[id_] = by_id[id_]
            id_ = next(before for before in by_id[id_].before if before in by_id)
        ids = list(walked)
        circle = ids[ids.index(id_) :]
        if told.isdisjoint(circle):
            at = min(range(len(circle)), key=lambda index: stuck.index(by_id[circle[index]]))
            yield tuple(by_id[each] for each in (*circle[at:], *circle[:at]))
        told.update(circle)
