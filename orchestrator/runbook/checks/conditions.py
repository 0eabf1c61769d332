"""Checks that conditions are known, have valid arguments, and can be evaluated at their place."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from migration.assessment.conditions import ConditionError, known, parse
from migration.image.summary import Phase
from orchestrator.config.yaml_lines import Problem, YamlPath
from orchestrator.runbook.calls import EACH, SOAK, Call, call_of
from orchestrator.runbook.places import Place, backward, forward

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded

Role: TypeAlias = Literal["already", "needs", "opens_when"]
ROLES: Final[tuple[Role, ...]] = ("already", "needs", "opens_when")
_ANY_ID: Final = "1"


def conditions(loaded: "Loaded") -> Iterator[Problem]:
    """Yield conditions that are unknown, invalid, misplaced or unused."""
    own = [each.name for each in loaded.runbook.conditions]
    used: set[str] = set()
    for place in (*forward(loaded.runbook), *backward(loaded.runbook)):
        for role in ROLES:
            for position, text in enumerate(getattr(place.checkpoint, role)):
                call = call_of(text)
                used.update(() if call is None else (call.name,))
                what = _wrong(text, call, place, role, own)
                if what is not None:
                    yield Problem(line=loaded.line(*place.path, role, position), what=what)
            yield from _twice(loaded, place, role)
        yield from _looks_at_each(loaded, place)
    yield from _own(loaded, used)


def _wrong(text: str, call: Call | None, place: Place, role: Role, own: list[str]) -> str | None:
    """Return the problem of one condition; None: there is none."""
    each = place.checkpoint.for_each
    if call is not None:
        for word in sorted(call.stands_for):
            if word != each:
                return (
                    f"`{word}` in {text} stands for nothing here: `{place.checkpoint.id}` has no"
                    f" `for_each: {word}`"
                )
        if call.name == SOAK:
            found = _soak(text, place, role)
            if found is not None:
                return found
    try:
        parse(text, bind=dict.fromkeys(EACH, _ANY_ID), own=own)
    except ConditionError as error:
        return str(error)
    return None


def _soak(text: str, place: Place, role: Role) -> str | None:
    if role == "already":
        return f"{text} counts how long guards or a gate hold: write it in `needs` or `opens_when`"
    others = [call_of(other) for other in getattr(place.checkpoint, role)]
    if all(other is not None and other.name == SOAK for other in others):
        return f"{text} counts how long the other conditions of `{role}` hold, and there are none"
    return None


def _twice(loaded: "Loaded", place: Place, role: Role) -> Iterator[Problem]:
    first: dict[Call, YamlPath] = {}
    for position, text in enumerate(getattr(place.checkpoint, role)):
        call, path = call_of(text), (*place.path, role, position)
        if call is None:
            continue
        if call in first:
            what = f"{text} stands here twice (first in line {loaded.line(*first[call])})"
            yield Problem(line=loaded.line(*path), what=what)
        first.setdefault(call, path)


def _looks_at_each(loaded: "Loaded", place: Place) -> Iterator[Problem]:
    """Yield parts without an instance's condition: they would hold for all instances at once."""
    each = place.checkpoint.for_each
    for role in ("already", "opens_when"):
        texts: tuple[str, ...] = getattr(place.checkpoint, role)
        calls = [call for text in texts if (call := call_of(text)) is not None]
        if each is None or not calls or any(each in call.stands_for for call in calls):
            continue
        what = (
            f"`{place.checkpoint.id}` is done for each {each}, and nothing in `{role}` is about"
            f" `{each}`: it would hold for all of them at once"
        )
        yield Problem(line=loaded.line(*place.path, role), what=what)


def _own(loaded: "Loaded", used: set[str]) -> Iterator[Problem]:
    built_in = {*(each.name for each in known()), *map(str, Phase)}
    first: dict[str, int] = {}
    for position, own in enumerate(loaded.runbook.conditions):
        path = ("conditions", position)
        line = loaded.line(*path, "name")
        if own.name in built_in:
            what = f"`{own.name}` is a condition of kraftgate's: choose another name"
            yield Problem(line=line, what=what)
        elif own.name in first:
            what = f"the name `{own.name}` is taken (line {first[own.name]}): choose another"
            yield Problem(line=line, what=what)
        elif own.name not in used:
            what = f"the condition `{own.name}` is never used: remove it, or name it in a gate"
            yield Problem(line=line, what=what)
        first.setdefault(own.name, line)
        if (own.shell is None) == (own.promql is None):
            what = f"`{own.name}` asks nothing: write `shell` or `promql`"
            if own.shell is not None:
                what = f"`{own.name}` has both `shell` and `promql`: keep one"
            yield Problem(line=loaded.line(*path), what=what)
