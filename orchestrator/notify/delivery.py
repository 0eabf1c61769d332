"""The deliveries to one receiver, and the notifications that are due. Pure.

What is due is computed from the alerts that are active now and the deliveries so far. So nothing
queues up while a receiver is unreachable, nothing is sent twice, and a resolution is sent only
where the alert was delivered, or may have been: it is recorded before the request is sent.

A resolution is sent when the alert has been resolved for a minute, so that a flapping alert is sent
once. This delay doubles each time the alert becomes active again soon, up to sixteen minutes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from pydantic import Field

from migration.assessment.alerts import Alert, AlertState
from migration.assessment.conditions import STEP_NEEDS_DECISION
from migration.values.severity import Severity
from orchestrator.notify.notification import Notification

RESOLVE_AFTER_MS: Final = 60_000
_DOUBLED_MAX: Final = 4
FORGET_MS: Final = 3_600_000
"""An alert that becomes active again later than this after its resolution is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveAlerts:
    """The active alerts of all clusters at one tick.

    Attributes:
        clusters: names of the clusters that Kraftgate polls.
        active: the active alerts by fingerprint.
    """

    at_ms: int
    clusters: frozenset[str]
    active: Mapping[str, AlertState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The notifications of one alert to a receiver. The aliases are the keys of the stored file.

    Attributes:
        alert: the alert at the last tick in which its condition held.
        count: number of notifications "active" that the receiver accepted.
        last_ms: when the receiver accepted the last of those; None: unknown whether it ever did.
        unconfirmed: whether a request was sent whose outcome is unknown.
        resolved_ms: when the alert was resolved.
        resolution_sent_ms: when the receiver accepted the resolution.
        reactivations: number of times the alert became active again soon after its resolution.
    """

    alert: Alert
    active_since_ms: Annotated[int, Field(alias="starts_ms")]
    count: Annotated[int, Field(alias="times")] = 0
    last_ms: int | None = None
    unconfirmed: Annotated[bool, Field(alias="unsure")] = False
    resolved_ms: Annotated[int | None, Field(alias="over_ms")] = None
    resolution_sent_ms: Annotated[int | None, Field(alias="resolved_ms")] = None
    reactivations: Annotated[int, Field(alias="returns")] = 0

    @property
    def resolve_after_ms(self) -> int:
        """How long the alert must be resolved before the resolution is sent, in ms.

        A person's decision ends it at once: the next failure of the step is another one.
        """
        if self.alert.name == STEP_NEEDS_DECISION:
            return 0
        return RESOLVE_AFTER_MS << min(self.reactivations, _DOUBLED_MAX)


Deliveries = Mapping[str, Delivery]
"""By fingerprint: alerts whose resolution was not delivered, or was less than FORGET_MS ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules that decide which notifications a receiver gets.

    Attributes:
        min_severity: lowest severity of the alerts that are sent.
        repeat_ms: interval after which an active alert is sent again.
        inhibits: a warning is not sent while the same alert is active as critical.
    """

    min_severity: Severity
    repeat_ms: int
    inhibits: bool


def update(deliveries: Deliveries, now: ActiveAlerts) -> Deliveries:
    """Return the deliveries with each alert as active, resolved or active again."""
    after: dict[str, Delivery] = {}
    for fingerprint, one in deliveries.items():
        active = now.active.get(fingerprint)
        if active is not None and one.resolution_sent_ms is None:
            again = one.resolved_ms is not None
            after[fingerprint] = replace(
                one,
                alert=active.alert,
                resolved_ms=None,
                reactivations=one.reactivations + again,
            )
        elif active is not None or one.alert.labels["cluster"] not in now.clusters:
            after[fingerprint] = one
        elif one.resolution_sent_ms is None:
            # If the clock was set back, its delay begins again.
            resolved_ms = now.at_ms if one.resolved_ms is None else min(one.resolved_ms, now.at_ms)
            after[fingerprint] = replace(one, resolved_ms=resolved_ms)
        elif now.at_ms - one.resolution_sent_ms < FORGET_MS:
            after[fingerprint] = one
    return after


def due(
    deliveries: Deliveries,
    now: ActiveAlerts,
    policy: Policy,
    now_ms: int,
    *,
    closing: bool = False,
) -> tuple[Notification, ...]:
    """Return the notifications to send now, most urgent first.

    If `closing`, Kraftgate ends, and resolutions are sent without their delay.
    """
    found = [*_active(deliveries, now, policy, now_ms)]
    for fingerprint, one in deliveries.items():
        resolved_ms = one.resolved_ms if one.resolution_sent_ms is None else None
        if fingerprint in now.active or resolved_ms is None:
            continue
        if closing or now_ms - resolved_ms >= one.resolve_after_ms:
            found.append(
                Notification(
                    alert=one.alert,
                    active_since_ms=one.active_since_ms,
                    resolved_ms=resolved_ms,
                    repeats=one.count,
                    reactivations=one.reactivations,
                )
            )
    return tuple(sorted(found, key=_order))


def mark_sending(deliveries: Deliveries, notifications: Iterable[Notification]) -> Deliveries:
    """Return the deliveries with these marked as perhaps accepted; called before the request."""
    after = dict(deliveries)
    for each in notifications:
        fingerprint = each.alert.fingerprint
        one = after.get(fingerprint)
        if one is None or one.resolution_sent_ms is not None:
            reactivations = 0 if one is None else one.reactivations + 1
            one = Delivery(
                alert=each.alert,
                active_since_ms=each.active_since_ms,
                reactivations=reactivations,
            )
        after[fingerprint] = replace(one, unconfirmed=True)
    return after


def mark_delivered(
    deliveries: Deliveries, notifications: Iterable[Notification], now_ms: int
) -> Deliveries:
    """Return the deliveries with these marked as accepted."""
    after = dict(deliveries)
    for each in notifications:
        fingerprint = each.alert.fingerprint
        one = replace(after[fingerprint], unconfirmed=False)
        if each.is_resolved:
            after[fingerprint] = replace(one, resolution_sent_ms=now_ms)
        else:
            after[fingerprint] = replace(one, count=one.count + 1, last_ms=now_ms)
    return after


def outline(deliveries: Deliveries) -> Mapping[str, tuple[int | None, int]]:
    """Return the part whose change is saved at once; alert texts have ages and always change."""
    return {key: (one.resolved_ms, one.reactivations) for key, one in deliveries.items()}


def _active(
    deliveries: Deliveries, now: ActiveAlerts, policy: Policy, now_ms: int
) -> Iterable[Notification]:
    inhibited = _inhibited(now) if policy.inhibits else frozenset()
    for fingerprint, active in now.active.items():
        alert, since_ms = active.alert, active.active_since_ms
        if since_ms is None or not alert.severity.is_at_least(policy.min_severity):
            continue
        one = deliveries.get(fingerprint)
        is_new = one is None or one.resolution_sent_ms is not None
        repeat = one is not None and _is_repeat_due(one, policy, now_ms)
        if fingerprint not in inhibited and (is_new or repeat):
            yield Notification(
                alert=alert,
                active_since_ms=since_ms if one is None or is_new else one.active_since_ms,
                repeats=0 if one is None or is_new else one.count,
                is_known=active.is_known,
                reactivations=0 if one is None else one.reactivations + is_new,
            )


def _is_repeat_due(one: Delivery, policy: Policy, now_ms: int) -> bool:
    if one.unconfirmed or one.last_ms is None:
        return True
    return not 0 <= now_ms - one.last_ms < policy.repeat_ms  # negative: the clock was set back


def _inhibited(now: ActiveAlerts) -> frozenset[str]:
    """Return the warnings that are also active as critical (the Prometheus inhibit rule)."""
    critical = {
        _subject(each.alert)
        for each in now.active.values()
        if each.alert.severity is Severity.CRITICAL and each.active_since_ms is not None
    }
    return frozenset(
        fingerprint
        for fingerprint, each in now.active.items()
        if each.alert.severity is not Severity.CRITICAL and _subject(each.alert) in critical
    )


def _subject(alert: Alert) -> tuple[str, str | None, str | None]:
    return alert.name, alert.labels.get("cluster"), alert.labels.get("broker")


def _order(one: Notification) -> tuple[bool, bool, int, str]:
    alert = one.alert
    is_critical = alert.severity is Severity.CRITICAL
    return one.is_resolved, not is_critical, one.active_since_ms, alert.fingerprint
