"""The lifecycle of alerts from tick to tick: pending, active, resolved.

An alert is pending while its condition holds, and active once it has held at every tick for the
rule's time. It is resolved when current data shows that the condition does not hold. Until then it
stays active, marked as not known.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, Severity
from migration.assessment.alerts.rules import RULES, alerts
from migration.assessment.alerts.scene import Scene

_RANK: Final = {(rule.name, rule.severity): rank for rank, rule in enumerate(RULES)}
GAP_MS_MAX: Final = 60_000
"""After a longer gap between two ticks a pending condition is not known to have held throughout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One alert at one tick.

    Attributes:
        found_ms: since when its condition has held at every tick.
        stands_ms: since when it is active; None: it is pending.
        is_known: whether its condition held at this tick; False: stale data may hide that it is
            resolved.
    """

    alert: Alert
    found_ms: int
    stands_ms: int | None
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """All alerts of one cluster at one tick, by fingerprint.

    Attributes:
        at_ms: of the tick; None: there was none.
    """

    at_ms: int | None = None
    all: Mapping[str, Standing] = field(default_factory=dict)

    def standing(self) -> tuple[Standing, ...]:
        """The active ones, the critical ones first, then in the order of the rules."""
        return self._ranked(lambda each: each.stands_ms is not None)

    def pending(self) -> tuple[Standing, ...]:
        """The pending ones, in the same order."""
        return self._ranked(lambda each: each.stands_ms is None)

    def _ranked(self, wanted: Callable[[Standing], bool]) -> tuple[Standing, ...]:
        return tuple(sorted(filter(wanted, self.all.values()), key=_rank))


NOTHING_STANDS: Final = Standings()


def advance(before: Standings, scene: Scene) -> Standings:
    """The alerts of the next tick."""
    now_ms = scene.now_ms
    missed = before.at_ms is None or not 0 <= now_ms - before.at_ms <= GAP_MS_MAX
    after: dict[str, Standing] = {}
    for alert in alerts(scene):
        was = before.all.get(alert.fingerprint)
        if was is None or (was.stands_ms is None and missed):
            was = Standing(alert=alert, found_ms=now_ms, stands_ms=None)
        stands_ms = was.stands_ms
        if stands_ms is None and now_ms - was.found_ms >= alert.for_ms:
            stands_ms = now_ms
        after[alert.fingerprint] = replace(was, alert=alert, stands_ms=stands_ms, is_known=True)
    after |= _left(before, after, scene)
    return Standings(at_ms=now_ms, all=after)


def _left(before: Standings, found: Mapping[str, Standing], scene: Scene) -> Mapping[str, Standing]:
    """The active ones whose condition does not hold and that are not known to be resolved."""
    return {
        fingerprint: replace(was, is_known=False)
        for fingerprint, was in before.all.items()
        if fingerprint not in found
        and was.stands_ms is not None
        and not all(rule.is_resolved(scene, was.alert.labels) for rule in _rules_of(was.alert))
    }


def _rules_of(alert: Alert) -> Iterator[Rule]:
    """Yield the rule that raised it; none: only an earlier version has that rule."""
    return (each for each in RULES if each.name == alert.name and each.severity is alert.severity)


def _rank(standing: Standing) -> tuple[bool, int, str]:
    alert = standing.alert
    at = _RANK.get((alert.name, alert.severity), len(_RANK))
    return alert.severity is not Severity.CRITICAL, at, alert.fingerprint
