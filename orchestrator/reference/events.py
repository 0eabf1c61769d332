"""The page of events and audit entries, from the tables of their kinds."""

import re
from collections.abc import Iterable
from typing import Final, get_args

from pydantic import BaseModel

from migration.metadata.event_kinds import EventKind
from orchestrator.audit import run_entries
from orchestrator.audit.execution import entries
from orchestrator.audit.kinds import EntryKind
from orchestrator.reference.markdown import code, first_line, page, table

_EVENTS: Final = """
An event is something that happened in the cluster. `status --json`, `replay --json`, the console
and the report show events. Each event has a `source`, the cluster's time (`timestamp`, `null` if
the cluster does not say), the time at which Kraftgate saw it (`seen_at`) and, if it comes from
the metadata log, an `offset`. The words in braces are fields of the event.
"""
_AUDIT: Final = """
An entry of the audit trail records a decision of an operator, or something that Kraftgate did or
observed. `kraftgate audit show` and `kraftgate audit export` print entries.
"""
_OTHER: Final = ((code(EntryKind.WRONG_CONSOLE_TOKEN), "The console received a wrong token."),)


def events() -> str:
    """Return the page."""
    rows = [(code(each), each.weight, _words(each.sentence)) for each in EventKind]
    return page(
        "Events and audit entries",
        "## Events",
        _EVENTS,
        table(("event", "weight", "meaning"), rows),
        "## Audit entries",
        _AUDIT,
        table(("entry", "meaning"), sorted([*_kinds(_bodies()), *_OTHER])),
    )


def _words(text: str) -> str:
    """Return the sentence with each field in code style."""
    return re.sub(r"\{(\w+)\}", r"`{\1}`", text)


def _bodies() -> tuple[type[BaseModel], ...]:
    return (*get_args(entries.Body), *get_args(run_entries.Body))


def _kinds(bodies: Iterable[type[BaseModel]]) -> Iterable[tuple[str, str]]:
    for each in bodies:
        yield code(each.model_fields["kind"].default), first_line(each)
