"""All checkpoints of a runbook with their places in the file, and their predecessors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from orchestrator.config.yaml_lines import YamlPath
from orchestrator.runbook.model import Checkpoint, ForwardCheckpoint, Runbook

Wrong: TypeAlias = tuple[YamlPath, str]
"""A problem of a runbook: the part of the file, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A checkpoint and its place.

    Attributes:
        path: its path in the file.
        before: ids of the checkpoints that it directly follows.
    """

    checkpoint: Checkpoint
    path: YamlPath
    before: tuple[str, ...]


def forward(runbook: Runbook) -> tuple[Place, ...]:
    """Return the forward checkpoints, in the order of the file."""
    return tuple(_places(runbook.checkpoints, ("checkpoints",)))


def rollback_paths(runbook: Runbook) -> tuple[tuple[Place, ...], ...]:
    """Return the checkpoints of each rollback path, in the order of the file."""
    return tuple(
        tuple(_places(way.checkpoints, ("rollbacks", position, "checkpoints")))
        for position, way in enumerate(runbook.rollbacks)
    )


def everywhere(runbook: Runbook) -> tuple[Place, ...]:
    """Return all checkpoints: the forward ones, then those of the rollback paths."""
    return (*forward(runbook), *chain.from_iterable(rollback_paths(runbook)))


def _places(checkpoints: Sequence[Checkpoint], path: YamlPath) -> Iterator[Place]:
    above: str | None = None
    for position, checkpoint in enumerate(checkpoints):
        after = checkpoint.after if isinstance(checkpoint, ForwardCheckpoint) else None
        default = () if above is None else (above,)
        yield Place(
            checkpoint=checkpoint,
            path=(*path, position),
            before=default if after is None else after,
        )
        above = checkpoint.id


def in_turn(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return the checkpoints, each after those that it follows; those in a cycle are left out.

    Unknown ids count as passed. Checkpoints that can come first stay in the order of the file.
    """
    waiting = {place.checkpoint.id: place for place in places}
    passed: list[Place] = []
    while True:
        free = next((p for p in waiting.values() if not set(p.before) & waiting.keys()), None)
        if free is None:
            return tuple(passed)
        passed.append(waiting.pop(free.checkpoint.id))


def all_before(place: Place, by_id: Mapping[str, Place]) -> frozenset[str]:
    """Return the ids of all direct and indirect predecessors of a checkpoint."""
    found: set[str] = set()
    open_: list[str] = list(place.before)
    while open_:
        id_ = open_.pop()
        if id_ not in found and id_ in by_id:
            found.add(id_)
            open_.extend(by_id[id_].before)
    return frozenset(found)
