"""Held brokers: the rules' group `kraftgate-assignments`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from migration.assessment.alerts.alert import Found, Rule, Severity
from migration.assessment.alerts.scene import Scene
from migration.assessment.conditions.authority import knows_partitions
from migration.assessment.waits.brokers import broker_waits
from migration.image.holds import is_stalled, last_progress_ms, serves_early
from migration.image.summary import BrokerSummary
from migration.values.durations import counted_text

CRITICAL_STALLS: Final = 3
"""A stall is critical after so many times the time after which it is one."""
HELD_MS: Final = 1_800_000
_MINUTE_MS: Final = 60_000


def _held(scene: Scene) -> Iterator[BrokerSummary]:
    """Yield the brokers that are held now."""
    if scene.log_is_current and knows_partitions(scene.view):
        yield from (each for each in scene.summary.brokers if each.held)


def _stalled(times: int) -> Callable[[Scene], Iterator[Found]]:
    def find(scene: Scene) -> Iterator[Found]:
        """Yield what has stopped; what is slow makes progress, and has not."""
        limit_ms = times * scene.view.stall_after_ms
        for broker in _held(scene):
            since_ms = last_progress_ms(broker)
            if since_ms is not None and not is_stalled(broker, scene.now_ms, limit_ms):
                continue
            # One that was held before the log that could be read has no times, for a snapshot
            # tells none: then it is as long as it is seen so.
            age = counted_text(limit_ms if since_ms is None else scene.now_ms - since_ms)
            yield Found(
                labels=_labels(broker),
                description=(
                    f"Broker {broker.id} of {scene.cluster} is held, and for {age} none of its"
                    " replicas got a log directory."
                ),
                details=_details(broker, scene),
                since_ms=since_ms,
                for_ms=limit_ms if since_ms is None else None,
            )

    return find


def _held_too_long(scene: Scene) -> Iterator[Found]:
    for broker in _held(scene):
        since_ms = broker.registered_ms
        if since_ms is None or scene.now_ms - since_ms <= HELD_MS:
            continue
        age = counted_text(scene.now_ms - since_ms)
        yield Found(
            labels=_labels(broker),
            description=(
                f"Broker {broker.id} of {scene.cluster} registered in KRaft mode {age} ago and"
                " still has replicas without a log directory."
            ),
            details=_details(broker, scene),
            since_ms=since_ms,
        )


def _unfenced_early(scene: Scene) -> Iterator[Found]:
    for broker in filter(serves_early, _held(scene)):
        yield Found(
            labels=_labels(broker),
            description=(
                f"Broker {broker.id} of {scene.cluster} serves and has replicas without a known log"
                " directory. If one of its directories fails now, Kafka moves no leaders."
            ),
            details=_details(broker, scene),
            since_ms=broker.unfenced_ms,
        )


def _labels(broker: BrokerSummary) -> Mapping[str, str]:
    return {"broker": str(broker.id)}


def _details(broker: BrokerSummary, scene: Scene) -> tuple[str, ...]:
    told = broker_waits(broker, scene.now_ms, scene.view.stall_after_ms)
    return tuple(each.text for each in told)


def _is_over(scene: Scene, labels: Mapping[str, str]) -> bool:  # noqa: ARG001
    return scene.log_decides


def _stall(severity: Severity, times: int) -> Rule:
    return Rule(
        name="KraftgateAssignmentStalled",
        severity=severity,
        for_ms=0,
        summary="Replicas of a broker wait for their log directories, and none gets one.",
        find=_stalled(times),
        is_over=_is_over,
    )


RULES: Final = (
    _stall(Severity.WARNING, 1),
    _stall(Severity.CRITICAL, CRITICAL_STALLS),
    Rule(
        name="KraftgateBrokerHeldTooLong",
        severity=Severity.WARNING,
        for_ms=0,
        summary="A broker is held for longer than its assignments should take.",
        find=_held_too_long,
        is_over=_is_over,
    ),
    # Kafka often unfences a broker some moments early, in a migration that goes well, too.
    Rule(
        name="KraftgateBrokerUnfencedEarly",
        severity=Severity.WARNING,
        for_ms=2 * _MINUTE_MS,
        summary="A broker serves although the controllers do not know where its replicas are.",
        find=_unfenced_early,
        is_over=_is_over,
    ),
)
