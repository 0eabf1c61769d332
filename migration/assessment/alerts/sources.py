"""Alerts on stale sources.

A stopped process cannot raise an alert: KraftgateOrchestratorDown is therefore only a Prometheus
rule, and heartbeats are for users without Prometheus.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule
from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import (
    controllers_stop,
    is_source_current,
    was_read,
)
from migration.assessment.data_source import FOLLOWED
from migration.image.summary import Phase
from migration.values.severity import Severity

_MINUTE_MS: Final = 60_000


def _answered_once(view: View, source: DataSource) -> bool:
    """Return whether a source has ever answered, or cannot be followed at all.

    Before the controllers exist none answers: that is a phase of the migration. The status has only
    the answers that this process received; the image also has those that an earlier process
    received.
    """
    status = view.status(source)
    answered = (status.last_reply_ms or 0) > 0 or was_read(view, source)
    return answered or status.error is not None or _has_quorum(view, source)


def _has_quorum(view: View, source: DataSource) -> bool:
    """Return whether the metadata log is known to exist: KRaft controllers lead the cluster."""
    if source is not DataSource.METADATA_LOG:
        return False
    zookeeper = view.summary.zookeeper
    holder = None if zookeeper is None else zookeeper.controller
    return DataSource.ZOOKEEPER not in view.configured or (holder is not None and holder.is_kraft)


def _stale(view: View) -> Iterator[DataSource]:
    for source in FOLLOWED:
        if is_source_current(view, source) is False and _answered_once(view, source):
            yield source


def _log_stale(rule: Rule, view: View) -> Iterator[Alert]:
    if DataSource.METADATA_LOG not in _stale(view) or _is_log_over(view):
        return
    yield _stale_alert(
        rule,
        view,
        DataSource.METADATA_LOG,
        f"What Kraftgate knows of {view.cluster} from the metadata log is stale. Take no step"
        " until it is current.",
    )


def _is_log_over(view: View) -> bool:
    """Return whether a rollback ends the metadata log, or has ended it."""
    return view.summary.known_phase is Phase.ROLLED_BACK or controllers_stop(view)


def _other_stale(rule: Rule, view: View) -> Iterator[Alert]:
    for source in _stale(view):
        if source is not DataSource.METADATA_LOG:
            yield _stale_alert(
                rule,
                view,
                source,
                f"What Kraftgate knows of {view.cluster} from the source {source} is stale:"
                " it may not show active hazards.",
            )


def _stale_alert(rule: Rule, view: View, source: DataSource, description: str) -> Alert:
    return rule.alert(
        view,
        description,
        labels={"source": str(source)},
        details=(view.not_current[source],),
        since_ms=view.status(source).last_reply_ms,
    )


def _is_resolved(view: View, labels: Mapping[str, str]) -> bool:
    """Return whether the source is current again, or no longer needed."""
    if is_source_current(view, DataSource(labels["source"])) is not False:
        return True
    return _is_log_over(view)


RULES: Final = (
    Rule(
        name="KraftgateStreamStale",
        severity=Severity.CRITICAL,
        for_ms=2 * _MINUTE_MS,
        summary="The metadata log is stale.",
        find=_log_stale,
        is_resolved=_is_resolved,
    ),
    Rule(
        name="KraftgateStreamStale",
        severity=Severity.WARNING,
        for_ms=2 * _MINUTE_MS,
        summary="A source is stale.",
        find=_other_stale,
        is_resolved=_is_resolved,
    ),
)
