"""Checks that conditions are known, have valid arguments, and can be evaluated at their place."""

from collections.abc import Iterator
from typing import Final, get_args

from migration.assessment.conditions import SOAK, Call, ConditionError, call_of, known, parse
from migration.assessment.data_source import DataSource
from migration.image.summary import Phase
from orchestrator.runbook.model import Each, Part, Runbook
from orchestrator.runbook.places import Place, Wrong, everywhere

_PARTS: Final[tuple[Part, ...]] = get_args(Part)
_EACH: Final[frozenset[str]] = frozenset(get_args(Each))
_ANY_ID: Final = "1"


def listed(place: Place) -> Iterator[tuple[Part, list[tuple[int, str]]]]:
    """Yield each list of conditions of a checkpoint: its key; the texts with their positions."""
    for role in _PARTS:
        yield role, list(enumerate(getattr(place.checkpoint, role)))


def conditions(book: Runbook) -> Iterator[Wrong]:
    """Yield conditions that are unknown, invalid, misplaced or unused."""
    own = [each.name for each in book.conditions]
    used: set[str] = set()
    for place in everywhere(book):
        for role, texts in listed(place):
            for position, text in texts:
                call = call_of(text)
                used.update(() if call is None else (call.name,))
                what = _wrong(text, call, place, role, own)
                if what is not None:
                    yield (*place.path, role, position), what
        yield from _not_of_each(place)
    yield from _own(book, used)


def _wrong(text: str, call: Call | None, place: Place, role: Part, own: list[str]) -> str | None:
    """Return the problem of one condition; None: there is none."""
    each = place.checkpoint.for_each
    if call is not None:
        for word in sorted(_EACH.intersection(call.arguments)):
            if word != each:
                return (
                    f"`{word}` in {text} has no meaning here: `{place.checkpoint.id}` has no"
                    f" `for_each: {word}`"
                )
        if call.name == SOAK:
            found = _soak(text, place, role)
            if found is not None:
                return found
    try:
        parse(text, bind=dict.fromkeys(_EACH, _ANY_ID), own=own)
    except ConditionError as error:
        return str(error)
    return None


def _soak(text: str, place: Place, role: Part) -> str | None:
    if role == "already":
        return f"{text} counts how long guards or a gate hold: write it in `needs` or `opens_when`"
    others = [call_of(other) for other in getattr(place.checkpoint, role)]
    if all(other is not None and other.name == SOAK for other in others):
        return f"{text} counts how long the other conditions of `{role}` hold, and there are none"
    return None


def _not_of_each(place: Place) -> Iterator[Wrong]:
    """Yield parts in which no condition names the instance: they would hold for all at once."""
    each = place.checkpoint.for_each
    for role, texts in listed(place):
        calls = [call for _, text in texts if (call := call_of(text)) is not None]
        if role == "needs" or each is None or not calls:
            continue
        if not any(each in call.arguments for call in calls):
            what = (
                f"`{place.checkpoint.id}` is done for each {each}, but no condition in `{role}`"
                f" names `{each}`, so `{role}` would hold for every {each} at once"
            )
            yield (*place.path, role), what


def _own(book: Runbook, used: set[str]) -> Iterator[Wrong]:
    built_in = {*(each.name for each in known()), *map(str, Phase)}
    sources = {*map(str, DataSource)}
    for position, own in enumerate(book.conditions):
        path = ("conditions", position)
        if own.name in built_in:
            what = f"`{own.name}` is a built-in condition: choose another name"
            yield (*path, "name"), what
        elif own.name in sources:
            yield (*path, "name"), f"`{own.name}` is the name of a source: choose another name"
        elif own.name not in used:
            what = f"the condition `{own.name}` is never used: remove it, or name it in a gate"
            yield (*path, "name"), what
        if own.shell is None and own.promql is None:
            yield path, f"`{own.name}` has neither `shell` nor `promql`: write one"
        if own.shell is not None and own.promql is not None:
            yield path, f"`{own.name}` has both `shell` and `promql`: keep one"
