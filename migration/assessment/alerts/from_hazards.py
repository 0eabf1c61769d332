"""Rules that raise alerts from hazards.

A hazard is active until current data shows that it ended, so stale data does not hide one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from migration.assessment.alerts.alert import Alert, AlertFacts, Rule
from migration.assessment.conditions import hazards_not_known
from migration.assessment.hazards import Hazard, HazardKind

Selects: TypeAlias = Callable[[Hazard], bool]
_EVIDENCE_MAX: Final = 5


def of(
    selects: Selects,
    describe: Callable[[AlertFacts, Hazard], str],
    *labels: str,
) -> Callable[[Rule, AlertFacts], Iterator[Alert]]:
    """Return a `find` for the selected hazards; those with equal `labels` are one alert."""

    def find(rule: Rule, facts: AlertFacts) -> Iterator[Alert]:
        groups: dict[tuple[tuple[str, str], ...], list[Hazard]] = {}
        for hazard in filter(selects, facts.view.due_hazards):
            every = _labels(hazard)
            groups.setdefault(tuple((each, every[each]) for each in labels), []).append(hazard)
        for identity, found in groups.items():
            yield rule.alert(
                facts,
                describe(facts, found[0]),
                labels=dict(identity),
                details=tuple(line for each in found for line in _details(each)),
                since_ms=min((e.since_ms for e in found if e.since_ms is not None), default=None),
            )

    return find


def is_resolved(facts: AlertFacts, labels: Mapping[str, str]) -> bool:
    """Return whether all data that would show this hazard is current."""
    return not hazards_not_known(facts.view, HazardKind(labels["hazard"]))


def _labels(hazard: Hazard) -> Mapping[str, str]:
    return {
        "hazard": str(hazard.kind),
        "blocks": str(hazard.blocks or ""),
        "broker": "" if hazard.broker is None else str(hazard.broker),
    }


def _details(hazard: Hazard) -> Iterator[str]:
    yield hazard.text
    yield from hazard.evidence[:_EVIDENCE_MAX]
    if (more := hazard.evidence_total - len(hazard.evidence[:_EVIDENCE_MAX])) > 0:
        yield f"and {more} more: see `kraftgate hazards`"
    yield f"The way out: {hazard.way_out}"
