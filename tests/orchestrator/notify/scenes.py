"""Scenes for the alerts' rules: a cluster in dual write with nothing wrong, and what changes."""

from collections.abc import Mapping
from dataclasses import replace

from migration.assessment.alerts import (
    NO_ALERTS,
    AlertState,
    AlertStates,
    advance,
)
from migration.assessment.conditions import DataSource, Execution, View
from migration.assessment.hazards import Hazard, HazardKind
from migration.observed.source_status import SourceStatus
from tests.migration.assessment.conditions.views import NOW, view

ANSWERED = SourceStatus(observed_ms=NOW, last_reply_ms=NOW - 400, dual_write_due=1439)
SOURCES = (DataSource.METADATA_LOG, DataSource.ZOOKEEPER, DataSource.LOG_DIRS)
STALE = dict.fromkeys(SOURCES, "nothing was heard of it")
MINUTE_MS = 60_000


def scene(
    of: View | None = None,
    *,
    at_ms: int = 0,
    execution: Execution | None = None,
    phase_began_ms: int | None = NOW - 1000,
    not_current: Mapping[DataSource, str] | None = None,
) -> View:
    """A scene so many ms after NOW."""
    given = replace(
        of or view(),
        now_ms=NOW + at_ms,
        sources=dict.fromkeys(SOURCES, ANSWERED),
        phase_began_ms=phase_began_ms,
        execution=execution,
    )
    return given if not_current is None else replace(given, not_current=not_current)


def hazard(kind: HazardKind = HazardKind.DUAL_WRITE_STUCK, **changes: object) -> Hazard:
    given = Hazard(
        kind=kind,
        text="it is bad",
        evidence=(),
        way_out="Mend it.",
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def with_hazards(*hazards: Hazard) -> View:
    return replace(view(), hazards=hazards)


def looked(*scenes: View, before: AlertStates = NO_ALERTS) -> AlertStates:
    """What stands after these looks."""
    for each in scenes:
        before = advance(before, each)
    return before


def names(now: AlertStates) -> list[str]:
    return [each.alert.name.removeprefix("Kraftgate") for each in now.active()]


def only(now: AlertStates) -> AlertState:
    (one,) = now.all.values()
    return one
