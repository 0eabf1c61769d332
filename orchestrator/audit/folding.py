"""Folds the routine entries of the audit trail, for people; the export has all entries."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from orchestrator.audit.entry import Entry
from orchestrator.audit.kinds import EntryKind


def folded(found: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """Yield the entries; of consecutive evaluations the last of each part, and how many."""
    for _, group in groupby(found, key=_key):
        parts: dict[object, tuple[Entry, int]] = {}
        for entry in group:
            part = entry.body.get("part")
            parts[part] = entry, parts.pop(part, (entry, 0))[1] + 1
        yield from parts.values()


def checked_text(times: int) -> str:
    """Return the number of folded entries, such as " (checked 92 times)"; "": only one."""
    return f" (checked {times} times)" if times > 1 else ""


def _key(entry: Entry) -> object:
    if entry.kind != EntryKind.JUDGED:
        return entry.sequence
    return entry.kind, entry.cluster, entry.body.get("checkpoint")
