"""Alerts on held brokers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, shown_by_log
from migration.assessment.conditions import View
from migration.assessment.conditions.authority import is_log_current, knows_partitions
from migration.assessment.waits import broker_waits
from migration.image.known_ids import in_zookeeper
from migration.image.summary import BrokerSummary
from migration.values.durations import counted_text
from migration.values.severity import Severity

CRITICAL_STALLS: Final = 3
"""A stall is critical after this multiple of `stall.after`."""
HELD_MS: Final = 1_800_000
_MINUTE_MS: Final = 60_000


def _held(view: View) -> Iterator[BrokerSummary]:
    if is_log_current(view) and knows_partitions(view):
        yield from (each for each in view.summary.brokers if each.held)


def _stalled(times: int) -> Callable[[Rule, View], Iterator[Alert]]:
    def find(rule: Rule, view: View) -> Iterator[Alert]:
        """Yield the brokers without progress; a slow broker has progress."""
        limit_ms = times * view.stall_after_ms
        for broker in _held(view):
            since_ms = broker.last_progress_ms
            if since_ms is not None and (
                broker.id not in view.stalled or view.log_now_ms - since_ms <= limit_ms
            ):
                continue
            # A broker that is known only from a metadata snapshot has no timestamps: it is stalled
            # if it was held for the limit, at every tick.
            age = _age(view, since_ms, limit_ms)
            yield rule.alert(
                view,
                labels=_labels(broker),
                description=(
                    f"Broker {broker.id} of {view.cluster} is held, and none of its replicas was"
                    f" assigned to a log directory for {age}."
                ),
                details=_details(broker, view),
                since_ms=since_ms,
                for_ms=limit_ms if since_ms is None else None,
            )

    return find


def _held_too_long(rule: Rule, view: View) -> Iterator[Alert]:
    for broker in _held(view):
        since_ms = broker.held_since_ms
        if since_ms is not None and view.log_now_ms - since_ms <= HELD_MS:
            continue
        # If only a metadata snapshot shows it, the time counts from when Kraftgate first saw it.
        age = _age(view, since_ms, HELD_MS)
        yield rule.alert(
            view,
            labels=_labels(broker),
            description=(
                f"Broker {broker.id} of {view.cluster} has been held for {age}: it still has"
                " replicas without a log directory."
            ),
            details=_details(broker, view),
            since_ms=since_ms,
            for_ms=HELD_MS if since_ms is None else None,
        )


def _age(view: View, since_ms: int | None, limit_ms: int) -> str:
    """Return for how long a condition has held; unknown: at least the limit, once it is active."""
    if since_ms is None:
        return f"at least {counted_text(limit_ms)}"
    return counted_text(view.log_now_ms - since_ms)


def _unfenced_early(rule: Rule, view: View) -> Iterator[Alert]:
    for broker in (each for each in _held(view) if each.is_unfenced_early):
        yield rule.alert(
            view,
            labels=_labels(broker),
            description=(
                f"Broker {broker.id} of {view.cluster} is unfenced and has replicas without a"
                " known log directory. If one of its directories fails now, Kafka moves no leaders."
            ),
            details=_details(broker, view),
            since_ms=broker.unfenced_ms,
        )


def _labels(broker: BrokerSummary) -> Mapping[str, str]:
    return {"broker": str(broker.id)}


def _details(broker: BrokerSummary, view: View) -> tuple[str, ...]:
    summary, now_ms = view.summary, view.log_now_ms
    zookeeper = in_zookeeper(summary)
    found = broker_waits(broker, zookeeper, summary.copied_ms, now_ms, view.stalled)
    return tuple(each.text for each in found)


def _stall(severity: Severity, times: int) -> Rule:
    return Rule(
        name="KraftgateAssignmentStalled",
        severity=severity,
        summary="The log directory assignments of a broker have stalled.",
        find=_stalled(times),
        is_resolved=shown_by_log,
    )


RULES: Final = (
    _stall(Severity.WARNING, 1),
    _stall(Severity.CRITICAL, CRITICAL_STALLS),
    Rule(
        name="KraftgateBrokerHeldTooLong",
        severity=Severity.WARNING,
        summary="A broker is held for longer than its assignments should take.",
        find=_held_too_long,
        is_resolved=shown_by_log,
    ),
    # Kafka often unfences a broker a few moments early, even in a migration without problems.
    Rule(
        name="KraftgateBrokerUnfencedEarly",
        severity=Severity.WARNING,
        for_ms=2 * _MINUTE_MS,
        summary="A broker is unfenced although some of its replicas have no known log directory.",
        find=_unfenced_early,
        is_resolved=shown_by_log,
    ),
)
