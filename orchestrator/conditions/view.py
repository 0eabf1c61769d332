"""What is known of a cluster now, as conditions look at it: the one place for what is current."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from migration.conditions import DataSource, View
from migration.durations import duration_text
from migration.hazards import hazards
from migration.preflight.facts import Maybe, Unknown
from migration.source_status import NO_STATUS, SourceStatus, is_current, is_silent
from orchestrator.conditions.asked import NOTHING_ASKED, Asked
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot

ASKED_MS_MAX: Final = 30_000
"""An answer that is older says nothing of the present."""
CHECKED_MS_MAX: Final = 1_800_000
"""The checks before the window are many, and what they look at changes slowly."""
_NOTHING: Final[Mapping[DataSource, str]] = MappingProxyType({})

T = TypeVar("T")


def view_of(
    one: Snapshot,
    entry: ClusterEntry,
    now_ms: int,
    *,
    stall_after_ms: int,
    unread: Mapping[DataSource, str] = _NOTHING,
    asked: Asked = NOTHING_ASKED,
    satisfied_since_ms: int | None = None,
) -> View:
    """All that a condition may look at.

    Args:
        one: What was followed.
        entry: What is configured of this cluster.
        now_ms: By the wall clock.
        stall_after_ms: So long without progress, and a held broker needs a person.
        unread: The sources of which something is yet to be read (`Horizons`).
        asked: What was asked for beside it.
        satisfied_since_ms: For `soak`.
    """
    not_current = dict(followed_not_current(one, entry, now_ms))
    for source, why in unread.items():
        not_current.setdefault(source, why)
    not_current |= dict(_asked_for(asked, now_ms))
    return View(
        summary=one.summary,
        now_ms=now_ms,
        stall_after_ms=stall_after_ms,
        not_current=not_current,
        hazards=hazards(one.summary, now_ms),
        topics=_known(asked.topics),
        settings=_known(asked.settings),
        quorum=_known(asked.quorum),
        preflight=_known(asked.preflight),
        external=asked.external,
        satisfied_since_ms=satisfied_since_ms,
    )


def followed_not_current(
    one: Snapshot, entry: ClusterEntry, now_ms: int
) -> Iterator[tuple[DataSource, str]]:
    """Yield what is followed and not current, with the reason; in words that stay the same."""
    why = _why_not(entry.controllers is not None, "controllers", one.status, now_ms)
    if why is None and one.status.log != one.summary.metadata_log:
        why = "another metadata log has begun, and is yet to be read"
    if why is not None:
        yield DataSource.METADATA_LOG, why
    why = _why_not(entry.zookeeper is not None, "zookeeper", one.zookeeper, now_ms)
    seen = one.summary.zookeeper
    if why is None and (seen is None or seen.seen_ms is None):
        why = "not read yet"
    elif why is None and seen is not None and seen.blind_since_ms is not None:
        why = "it is not seen: changes may have been missed"
    if why is not None:
        yield DataSource.ZOOKEEPER, why
    why = _why_not(entry.brokers is not None, "brokers", one.log_dirs, now_ms)
    if why is not None:
        yield DataSource.LOG_DIRS, why
    why = _why_not(True, "jmx", one.jmx, now_ms) if entry.jmx is not None else None
    if why is not None:
        yield DataSource.JMX, why


def _why_not(configured: bool, key: str, status: SourceStatus, now_ms: int) -> str | None:
    if not configured:
        return f"`{key}` is not configured"
    if status.error is not None:
        return status.error
    if status == NO_STATUS:
        return "nothing was observed yet: does `kraftgate run` run?"
    if is_silent(status, now_ms):
        return "`kraftgate run` does not report any more: does it run?"
    if not is_current(status, now_ms):
        return status.waiting or "no answer comes any more"
    return None


def _asked_for(asked: Asked, now_ms: int) -> Iterator[tuple[DataSource, str]]:
    if isinstance(asked.log_dirs, Unknown):
        yield DataSource.LOG_DIRS, asked.log_dirs.why
    for source, answer, oldest_ms in (
        (DataSource.TOPICS, asked.topics, ASKED_MS_MAX),
        (DataSource.SETTINGS, asked.settings, ASKED_MS_MAX),
        (DataSource.QUORUM, asked.quorum, ASKED_MS_MAX),
        (DataSource.PREFLIGHT, asked.preflight, CHECKED_MS_MAX),
    ):
        if isinstance(answer, Unknown):
            yield source, answer.why
        elif now_ms - answer.at_ms > oldest_ms:
            yield source, f"the last answer is older than {duration_text(oldest_ms)}"


def _known(answer: Maybe[T]) -> T | None:
    return None if isinstance(answer, Unknown) else answer
