"""What one receiver was told, and what it is to be told next. Pure.

It is worked out anew from what stands now and what was told, so nothing piles up while a receiver
cannot be reached, nothing is told twice, and the end of an alert is told only where its beginning
was, or may have been: before a notice is sent it is written down that it may have been taken.

An end is told a minute after it is known, so that what comes and goes is told once. Each time that
an alert comes back soon this doubles, up to sixteen minutes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.alerts import Alert, Severity, Standing
from orchestrator.alerts.notice import Notice

OVER_MS: Final = 60_000
_DOUBLED_MAX: Final = 4
FORGET_MS: Final = 3_600_000
"""An alert that stays away for so long after its end was told did not come back."""
GIVE_UP_MS: Final = 86_400_000
"""The end of an alert that cannot be told for so long is told no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What stands now, of all clusters.

    Attributes:
        at_ms: when that was judged.
        clusters: those that are followed.
        standing: by fingerprint.
    """

    at_ms: int
    clusters: frozenset[str]
    standing: Mapping[str, Standing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the receiver was told of one alert.

    Attributes:
        alert: as it was last found.
        starts_ms: since when it stands.
        times: how often the receiver took that it stands.
        last_ms: when it last did; None: not known whether it ever did.
        unsure: whether something was sent of which it is not known whether it was taken.
        over_ms: since when it is over.
        resolved_ms: when its end was taken.
        returns: how often it came back soon after it was over.
    """

    alert: Alert
    starts_ms: int
    times: int = 0
    last_ms: int | None = None
    unsure: bool = False
    over_ms: int | None = None
    resolved_ms: int | None = None
    returns: int = 0

    @property
    def hold_ms(self) -> int:
        """So long it must be over before its end is told."""
        return OVER_MS << min(self.returns, _DOUBLED_MAX)


Book = Mapping[str, Told]
"""By fingerprint: everything that was told and whose end was not, or a moment ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a receiver wants to be told.

    Attributes:
        min_severity: of alerts that are as urgent, or more.
        again_ms: what stands is told again so long after it was told.
        inhibits: a warning is not told while the same stands as critical.
    """

    min_severity: Severity
    again_ms: int
    inhibits: bool


def noted(book: Book, wanted: Wanted) -> Book:
    """Take note of what stands now."""
    after: dict[str, Told] = {}
    for fingerprint, told in book.items():
        standing = wanted.standing.get(fingerprint)
        if standing is not None and told.resolved_ms is None:
            back = told.over_ms is not None
            after[fingerprint] = replace(
                told, alert=standing.alert, over_ms=None, returns=told.returns + back
            )
        elif standing is not None or told.alert.labels["cluster"] not in wanted.clusters:
            after[fingerprint] = told
        elif told.resolved_ms is None:
            after[fingerprint] = replace(
                told, over_ms=wanted.at_ms if told.over_ms is None else told.over_ms
            )
        elif wanted.at_ms - told.resolved_ms < FORGET_MS:
            after[fingerprint] = told
    return after


def given_up(book: Book, now_ms: int) -> tuple[str, ...]:
    """Those whose end could not be told for too long."""
    return tuple(
        fingerprint
        for fingerprint, told in book.items()
        if told.resolved_ms is None
        and told.over_ms is not None
        and now_ms - told.over_ms > GIVE_UP_MS
    )


def due(
    book: Book, wanted: Wanted, manner: Manner, now_ms: int, *, at_the_end: bool = False
) -> tuple[Notice, ...]:
    """Give what is to be told now, the most urgent first; `at_the_end`: an end waits no more."""
    found = [*_begun_or_again(book, wanted, manner, now_ms)]
    for fingerprint, told in book.items():
        over = told.over_ms if told.resolved_ms is None else None
        if fingerprint in wanted.standing or over is None:
            continue
        if at_the_end or now_ms - over >= told.hold_ms:
            found.append(
                Notice(
                    alert=told.alert,
                    starts_ms=told.starts_ms,
                    ends_ms=over,
                    number=told.times,
                    returns=told.returns,
                )
            )
    return tuple(sorted(found, key=_order))


def sending(book: Book, notices: Iterable[Notice]) -> Book:
    """Write down, before they are sent, that these may have been taken."""
    after = dict(book)
    for each in notices:
        fingerprint = each.alert.fingerprint
        told = after.get(fingerprint)
        if told is None or told.resolved_ms is not None:
            returns = 0 if told is None else told.returns + 1
            told = Told(alert=each.alert, starts_ms=each.starts_ms, returns=returns)
        after[fingerprint] = replace(told, unsure=True)
    return after


def taken(book: Book, notices: Iterable[Notice], now_ms: int) -> Book:
    """Write down that they were taken."""
    after = dict(book)
    for each in notices:
        fingerprint = each.alert.fingerprint
        told = replace(after[fingerprint], unsure=False)
        if each.is_over:
            after[fingerprint] = replace(told, resolved_ms=now_ms)
        else:
            after[fingerprint] = replace(told, times=told.times + 1, last_ms=now_ms)
    return after


def outline(book: Book) -> Mapping[str, tuple[int | None, int]]:
    """What of a book is worth writing down at once: not the alerts' words, which have ages."""
    return {key: (told.over_ms, told.returns) for key, told in book.items()}


def _begun_or_again(book: Book, wanted: Wanted, manner: Manner, now_ms: int) -> Iterable[Notice]:
    quiet = _inhibited(wanted) if manner.inhibits else frozenset()
    for fingerprint, standing in wanted.standing.items():
        alert, stands_ms = standing.alert, standing.stands_ms
        if stands_ms is None or not alert.severity.is_at_least(manner.min_severity):
            continue
        told = book.get(fingerprint)
        begins = told is None or told.resolved_ms is not None
        again = told is not None and _is_due_again(told, manner, now_ms)
        if fingerprint not in quiet and (begins or again):
            returns = 0 if told is None else told.returns + begins
            yield Notice(
                alert=alert,
                starts_ms=stands_ms if told is None or begins else told.starts_ms,
                number=0 if told is None or begins else told.times,
                is_known=standing.is_known,
                returns=returns,
            )


def _is_due_again(told: Told, manner: Manner, now_ms: int) -> bool:
    return told.unsure or told.last_ms is None or now_ms - told.last_ms >= manner.again_ms


def _inhibited(wanted: Wanted) -> frozenset[str]:
    """Warnings of which the same stands as critical, as the rules ask Alertmanager to have it."""
    critical = {
        _same(each.alert)
        for each in wanted.standing.values()
        if each.alert.severity is Severity.CRITICAL and each.stands_ms is not None
    }
    return frozenset(
        fingerprint
        for fingerprint, each in wanted.standing.items()
        if each.alert.severity is not Severity.CRITICAL and _same(each.alert) in critical
    )


def _same(alert: Alert) -> tuple[str, str | None, str | None]:
    return alert.name, alert.labels.get("cluster"), alert.labels.get("broker")


def _order(notice: Notice) -> tuple[bool, bool, int, str]:
    alert = notice.alert
    urgent = alert.severity is Severity.CRITICAL
    return notice.is_over, not urgent, notice.starts_ms, alert.fingerprint
