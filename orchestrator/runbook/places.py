"""All checkpoints of a runbook with their places in the file, and what comes before each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.config.yaml_lines import YamlPath
from orchestrator.runbook.model import Checkpoint, Rollback, Runbook


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A checkpoint, and where it stands.

    Attributes:
        path: in the file.
        before: ids of the checkpoints that it is directly after.
        way_back: the way back that it is a part of; None: it is on the way forward.
    """

    checkpoint: Checkpoint
    path: YamlPath
    before: tuple[str, ...]
    way_back: Rollback | None = None


def forward(runbook: Runbook) -> tuple[Place, ...]:
    """Give the checkpoints of the way forward, as they stand."""
    return tuple(_places(runbook.checkpoints, ("checkpoints",), None))


def backward(runbook: Runbook) -> tuple[Place, ...]:
    """Give the checkpoints of all ways back, as they stand."""
    return tuple(
        place
        for position, way in enumerate(runbook.rollbacks)
        for place in _places(way.checkpoints, ("rollbacks", position, "checkpoints"), way)
    )


def _places(
    checkpoints: Sequence[Checkpoint], path: YamlPath, way: Rollback | None
) -> Iterator[Place]:
    above: str | None = None
    for position, checkpoint in enumerate(checkpoints):
        default = () if above is None else (above,)
        yield Place(
            checkpoint=checkpoint,
            path=(*path, position),
            before=default if checkpoint.after is None else checkpoint.after,
            way_back=way,
        )
        above = checkpoint.id


def in_turn(places: Sequence[Place]) -> tuple[Place, ...]:
    """Put checkpoints behind those that they are after; in a circle they are left out.

    Unknown ids are taken as passed. What may come first keeps its place in the file.
    """
    waiting = {place.checkpoint.id: place for place in places}
    passed: list[Place] = []
    while True:
        free = next((p for p in waiting.values() if not set(p.before) & waiting.keys()), None)
        if free is None:
            return tuple(passed)
        passed.append(waiting.pop(free.checkpoint.id))


def all_before(place: Place, by_id: Mapping[str, Place]) -> frozenset[str]:
    """Give the ids of everything that is passed before a checkpoint, near and far."""
    found: set[str] = set()
    open_: list[str] = list(place.before)
    while open_:
        id_ = open_.pop()
        if id_ not in found and id_ in by_id:
            found.add(id_)
            open_.extend(by_id[id_].before)
    return frozenset(found)
