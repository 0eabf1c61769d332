"""The page's waits, hazards and sources, from the assessment."""

from collections.abc import Iterator
from typing import Final, Literal, cast

from migration.assessment.conditions.authority import in_use
from migration.assessment.data_source import FOLLOWED
from migration.assessment.hazards import Hazard
from migration.assessment.waits.wait import Wait, WaitKind
from migration.observed.source_status import NO_STATUS
from orchestrator.api.console.rows import HazardTold, Source, WaitTold
from orchestrator.run.assessed import Assessed

TOLD_MAX: Final = 200
"""The most waits, and the most hazards, that the page gets; all are counted."""
_NEED_A_PERSON: Final = frozenset(
    {
        WaitKind.SOURCE_ERROR,
        WaitKind.NOT_RUNNING,
        WaitKind.BROKER_STALLED,
        WaitKind.REPLICAS_OFFLINE,
        WaitKind.BROKER_IN_ZOOKEEPER_MODE,
        WaitKind.CONTROLLERS,
        WaitKind.FINALIZE,
        WaitKind.ROLLED_BACK,
    }
)

SourceName = Literal["metadata_log", "zookeeper", "log_dirs", "jmx"]


def needs_person(wait: Wait) -> bool:
    """Whether the wait lasts until an operator acts."""
    return wait.kind in _NEED_A_PERSON


def to_the_second(moment_ms: int | None) -> int | None:
    """Return a moment cut to the second: it changes always, but the page updates once a second."""
    return None if moment_ms is None else moment_ms - moment_ms % 1000


def sources(one: Assessed) -> Iterator[Source]:
    """Yield the four sources, also those that are not configured."""
    statuses, unread = one.configured, one.unread
    view, not_current = one.assessment.view, one.currency.not_current
    for each in FOLLOWED:
        status = statuses.get(each, NO_STATUS)
        yield Source(
            name=cast(SourceName, str(each)),
            configured=each in statuses,
            in_use=each in statuses and in_use(view, each),
            current=each in statuses and each not in not_current,
            why_not=not_current.get(each),
            waiting=status.waiting,
            error=status.error,
            last_reply_ms=to_the_second(status.last_reply_ms),
            endpoint=status.endpoint,
            unread=unread.get(each),
            limits=status.limits,
        )


def waits_told(reasons: tuple[Wait, ...]) -> Iterator[WaitTold]:
    """Yield the most important waits of the migration."""
    for each in reasons[:TOLD_MAX]:
        yield WaitTold(
            name=each.kind,
            text=each.text,
            broker=each.broker,
            since_ms=each.since_ms,
            needs_person=needs_person(each),
        )


def hazards_told(found: tuple[Hazard, ...]) -> Iterator[HazardTold]:
    """Yield the most severe hazards."""
    for each in found[:TOLD_MAX]:
        yield HazardTold(
            id=each.kind,
            severity=each.severity,
            blocks=each.blocks,
            broker=each.broker,
            text=each.text,
            evidence=each.shown,
            way_out=each.way_out,
            since_ms=each.since_ms,
        )
