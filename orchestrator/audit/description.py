"""Formats an entry as text: its author, and its fields except those that only the export has."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.audit.entry import Entry
from orchestrator.output.formatting import pairs

_WHO: Final = "by"
_LEFT_OUT: Final = frozenset({_WHO, "facts", "basis", "evidence"})
_SHOWN_MAX: Final = 160


def who(entry: Entry) -> str:
    """Return who decided it, and on which host; kraftgate if no operator did."""
    by = entry.body.get(_WHO)
    if isinstance(by, Mapping):
        given, login = by.get("who"), by.get("login")
        name = given if login in (None, given) else f"{given} (login {login})"
        return f"{name}@{by.get('host')}"
    return str(by or "kraftgate")


def said(entry: Entry, shown_max: int = _SHOWN_MAX) -> str:
    """Return the fields in one line of at most `shown_max` characters."""
    text = pairs(dict(_fields(entry)))
    return f"{text[:shown_max]}..." if len(text) > shown_max else text


def _fields(entry: Entry) -> Iterator[tuple[str, object]]:
    """Yield the fields, except the author, empty values, and those that only the export shows."""
    for key, value in entry.body.items():
        if key in _LEFT_OUT or value is None:
            continue
        if key == "findings":
            yield from _held_by(value)
        else:
            yield key, value


def _held_by(findings: object) -> Iterator[tuple[str, object]]:
    """Yield the conditions that did not hold."""
    if isinstance(findings, Sequence) and not isinstance(findings, str):
        judged = [each for each in findings if isinstance(each, Mapping)]
        reasons = [
            f"{each.get('condition')}: {each.get('reason')}"
            for each in judged
            if each.get("verdict") != "satisfied"
        ]
        if reasons:
            yield "holds", "; ".join(reasons)
