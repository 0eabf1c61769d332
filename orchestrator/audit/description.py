"""Formats an entry as text: its author, and its fields except those that only the export has."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.audit.entry import Entry
from orchestrator.output.formatting import for_people, pairs

_AUTHOR: Final = "by"
_OMITTED: Final = frozenset({_AUTHOR, "facts", "basis", "evidence"})
_CHARACTERS_MAX: Final = 160


def author(entry: Entry) -> str:
    """Return who decided it, and on which host; kraftgate if no operator did."""
    by = entry.body.get(_AUTHOR)
    if isinstance(by, Mapping):
        given, login = by.get("who"), by.get("login")
        name = given if login in (None, given) else f"{given} (login {login})"
        return f"{name}@{by.get('host')}"
    return str(by or "kraftgate")


def fields_text(entry: Entry) -> str:
    """Return the fields in one line of at most `_CHARACTERS_MAX` characters, without digests."""
    text = pairs(for_people(dict(_fields(entry))))
    return f"{text[:_CHARACTERS_MAX]}..." if len(text) > _CHARACTERS_MAX else text


def _fields(entry: Entry) -> Iterator[tuple[str, object]]:
    """Yield the fields, except the author, empty values, and those that only the export shows."""
    for key, value in entry.body.items():
        if key in _OMITTED or value is None:
            continue
        if key == "findings":
            yield from _unmet(value)
        else:
            yield key, value


def _unmet(findings: object) -> Iterator[tuple[str, object]]:
    if isinstance(findings, Sequence) and not isinstance(findings, str):
        conditions = [each for each in findings if isinstance(each, Mapping)]
        reasons = [
            f"{each.get('condition')}: {each.get('reason')}"
            for each in conditions
            if each.get("verdict") != "satisfied"
        ]
        if reasons:
            yield "holds", "; ".join(reasons)
