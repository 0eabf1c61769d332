"""An entry in words: who, and what it says, without what only the export shows whole."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.audit.entry import Entry
from orchestrator.output.formatting import pairs

_WHO: Final = "by"
_LEFT_OUT: Final = frozenset({_WHO, "facts", "basis", "evidence"})
_SHOWN_MAX: Final = 160


def who(entry: Entry) -> str:
    """Who decided it, and where; kraftgate itself where nobody did."""
    by = entry.body.get(_WHO)
    if isinstance(by, Mapping):
        given, login = by.get("who"), by.get("login")
        name = given if login in (None, given) else f"{given} (login {login})"
        return f"{name}@{by.get('host')}"
    return str(by or "kraftgate")


def said(entry: Entry, shown_max: int = _SHOWN_MAX) -> str:
    """What it says, in a line of at most so many characters."""
    text = pairs(dict(_fields(entry)))
    return f"{text[:shown_max]}..." if len(text) > shown_max else text


def _fields(entry: Entry) -> Iterator[tuple[str, object]]:
    """Leave out who, what has no value, and what only the export shows whole."""
    for key, value in entry.body.items():
        if key in _LEFT_OUT or value is None:
            continue
        if key == "findings":
            yield from _held_by(value)
        else:
            yield key, value


def _held_by(findings: object) -> Iterator[tuple[str, object]]:
    """Of conditions that were judged, those that did not hold."""
    if isinstance(findings, Sequence) and not isinstance(findings, str):
        judged = [each for each in findings if isinstance(each, Mapping)]
        reasons = [
            f"{each.get('condition')}: {each.get('reason')}"
            for each in judged
            if each.get("verdict") != "satisfied"
        ]
        if reasons:
            yield "holds", "; ".join(reasons)
