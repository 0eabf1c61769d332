"""Which alerts stand, look by look.

An alert is pending while its rule finds it, and stands once it was found for the rule's time at
every look. It is over when it is not found and everything is known that would show it; while that
is not known it stands as it was, and says so.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.assessment.alerts.alert import Alert, Rule, Severity
from migration.assessment.alerts.all import RULES
from migration.assessment.alerts.scene import Scene

_RANK: Final = {(rule.name, rule.severity): rank for rank, rule in enumerate(RULES)}
GAP_MS_MAX: Final = 60_000
"""Of what nobody looked at for longer than this it is not known that it was so all the while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One alert at one look.

    Attributes:
        found_ms: since when it is found without a break.
        stands_ms: since when it stands; None: it is pending.
        is_known: whether it was found at the last look; False: whether it is over is not known.
    """

    alert: Alert
    found_ms: int
    stands_ms: int | None
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """All alerts of one cluster at one look, by fingerprint.

    Attributes:
        at_ms: of the look; None: there was none.
    """

    at_ms: int | None = None
    all: Mapping[str, Standing] = field(default_factory=dict)

    def standing(self) -> tuple[Standing, ...]:
        """Those that stand, the most urgent first, then in the rules' order."""
        return self._ranked(lambda each: each.stands_ms is not None)

    def pending(self) -> tuple[Standing, ...]:
        """Those that do not stand yet, in the same order."""
        return self._ranked(lambda each: each.stands_ms is None)

    def _ranked(self, wanted: Callable[[Standing], bool]) -> tuple[Standing, ...]:
        return tuple(sorted(filter(wanted, self.all.values()), key=_rank))


NOTHING_STANDS: Final = Standings()


def advance(before: Standings, scene: Scene) -> Standings:
    """Take one look further."""
    now_ms = scene.now_ms
    missed = before.at_ms is None or not 0 <= now_ms - before.at_ms <= GAP_MS_MAX
    after: dict[str, Standing] = {}
    for rule in RULES:
        for alert, for_ms in rule.alerts(scene):
            was = before.all.get(alert.fingerprint)
            if was is None or (was.stands_ms is None and missed):
                was = Standing(alert=alert, found_ms=now_ms, stands_ms=None)
            stands_ms = was.stands_ms
            if stands_ms is None and now_ms - was.found_ms >= for_ms:
                stands_ms = now_ms
            after[alert.fingerprint] = replace(was, alert=alert, stands_ms=stands_ms, is_known=True)
    after |= _left(before, after, scene)
    return Standings(at_ms=now_ms, all=after)


def _left(before: Standings, found: Mapping[str, Standing], scene: Scene) -> Mapping[str, Standing]:
    """Those that were not found and are not known to be over."""
    return {
        fingerprint: replace(was, is_known=False)
        for fingerprint, was in before.all.items()
        if fingerprint not in found
        and was.stands_ms is not None
        and not all(rule.is_over(scene, was.alert.labels) for rule in _rules_of(was.alert))
    }


def _rules_of(alert: Alert) -> Iterator[Rule]:
    """Yield the rule that it stands by; none: an earlier version had it."""
    return (each for each in RULES if each.name == alert.name and each.severity is alert.severity)


def _rank(standing: Standing) -> tuple[bool, int, str]:
    alert = standing.alert
    at = _RANK.get((alert.name, alert.severity), len(_RANK))
    return alert.severity is not Severity.CRITICAL, at, alert.fingerprint
