"""Checks a runbook for problems that involve more than one key, each with its line and reason.

Every checkpoint must be reachable and passable, must have a gate that shows that it is done, and
must have a rollback path up to the first checkpoint that cannot be undone. A checkpoint that cannot
be undone requires an approval, and begins only after a soak.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from migration.assessment.conditions import call_of
from migration.values.nearest import did_you_mean
from orchestrator.config.yaml_lines import Problem, YamlPath
from orchestrator.runbook.checks.conditions import conditions, listed
from orchestrator.runbook.checks.final import final
from orchestrator.runbook.checks.phases import phases
from orchestrator.runbook.checks.rollback import rollbacks
from orchestrator.runbook.instance_order import RULES
from orchestrator.runbook.model import Runbook
from orchestrator.runbook.places import (
    Place,
    Wrong,
    everywhere,
    forward,
    in_turn,
    rollback_paths,
)
from orchestrator.runbook.templates import complaint

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded

_Named: TypeAlias = list[tuple[Hashable, str, YamlPath]]


def check(loaded: "Loaded") -> tuple[Problem, ...]:
    """Return all problems, ordered by line; empty: the runbook may be executed."""
    book = loaded.runbook
    found = [
        *(wrong for place in everywhere(book) for wrong in _shape(place)),
        *(wrong for way in (forward(book), *rollback_paths(book)) for wrong in _order(way)),
        *rollbacks(book),
        *conditions(book),
        *phases(book),
        *final(book),
    ]
    problems = [Problem(line=loaded.read.line(path), what=what) for path, what in found]
    return tuple(sorted([*problems, *_twice(loaded)], key=lambda problem: problem.line))


def _twice(loaded: "Loaded") -> Iterator[Problem]:
    """Yield each name that is taken and each condition that is repeated, with its first line."""
    for words, named in _unique(loaded.runbook):
        first: dict[Hashable, int] = {}
        for key, shown, path in named:
            line = loaded.read.line(path)
            if key in first:
                yield Problem(line=line, what=words.format(shown, first[key]))
            first.setdefault(key, line)


def _unique(book: Runbook) -> Iterator[tuple[str, _Named]]:
    """Yield what must differ within the file, with the message about a second one."""
    taken = "the {} is taken (line {}): choose another"
    places = everywhere(book)
    ids = [(place.checkpoint.id, (*place.path, "id")) for place in places]
    ways = [(way.id, ("rollbacks", at, "id")) for at, way in enumerate(book.rollbacks)]
    own = [(each.name, ("conditions", at, "name")) for at, each in enumerate(book.conditions)]
    for kind, named in (("id", ids), ("id", ways), ("name", own)):
        yield taken, [(name, f"{kind} `{name}`", path) for name, path in named]
    for place in places:
        for role, texts in listed(place):
            calls = [(call_of(text), text, (*place.path, role, at)) for at, text in texts]
            yield (
                "{} is listed twice (first in line {})",
                [(call, text, path) for call, text, path in calls if call is not None],
            )


def _shape(place: Place) -> Iterator[Wrong]:
    """Yield the problems of one checkpoint: the gate, the step's text, the order."""
    checkpoint, path = place.checkpoint, place.path
    if not checkpoint.opens_when:
        what = f"`{checkpoint.id}` has neither a step nor a gate: write `step` or `opens_when`"
        if checkpoint.step is not None:
            what = (
                f"the gate of `{checkpoint.id}` has no condition that shows that its step is done:"
                " write `opens_when`"
            )
        yield (*path, "opens_when"), what
    if checkpoint.step is not None:
        for key, text in (("do", checkpoint.step.do), ("manual", checkpoint.step.manual)):
            wrong = None if text is None else complaint(text, checkpoint.for_each)
            if wrong is not None:
                yield (*path, "step", key), wrong
    elif checkpoint.already:
        what = f"`{checkpoint.id}` has `already` and no step that could be done already"
        yield (*path, "already"), what
    for position, rule in enumerate(checkpoint.order or ()):
        needed = next(each for each, rules in RULES.items() if rule in rules)
        if checkpoint.for_each != needed:
            yield (*path, "order", position), f"the order `{rule}` needs `for_each: {needed}`"


def _order(places: Sequence[Place]) -> Iterator[Wrong]:
    """Yield unknown ids in `after`, and cycles."""
    ids = [place.checkpoint.id for place in places]
    for place in places:
        for position, id_ in enumerate(place.before):
            if id_ not in ids:
                what = (
                    f"`after` names no checkpoint of this path: `{id_}`; {did_you_mean(id_, ids)}"
                )
                yield (*place.path, "after", position), what
    passed = {place.checkpoint.id for place in in_turn(places)}
    stuck = [place for place in places if place.checkpoint.id not in passed]
    for circle in _circles(stuck):
        names = " -> ".join(f"`{place.checkpoint.id}`" for place in (*circle, circle[0]))
        what = f"can never be reached: each waits for the next one: {names}"
        yield (*circle[0].path, "after"), what


def _circles(stuck: Sequence[Place]) -> Iterator[tuple[Place, ...]]:
    """Yield each cycle once, starting at its first checkpoint in the file."""
    by_id = {place.checkpoint.id: place for place in stuck}
    found: set[str] = set()
    for start in stuck:
        walked: dict[str, Place] = {}
        id_ = start.checkpoint.id
        while id_ not in walked:
            walked[id_] = by_id[id_]
            id_ = next(before for before in by_id[id_].before if before in by_id)
        ids = list(walked)
        circle = ids[ids.index(id_) :]
        if found.isdisjoint(circle):
            at = min(range(len(circle)), key=lambda index: stuck.index(by_id[circle[index]]))
            yield tuple(by_id[each] for each in (*circle[at:], *circle[:at]))
        found.update(circle)
