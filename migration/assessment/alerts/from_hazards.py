"""How the rules on hazards look at them.

A hazard stands until it is known that it ends, so what is not current does not hide one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from migration.assessment.alerts.alert import Found
from migration.assessment.alerts.scene import Scene
from migration.assessment.conditions import hazards_not_known
from migration.assessment.hazards import Hazard, HazardKind

Asked: TypeAlias = Callable[[Hazard], bool]
_EVIDENCE_MAX: Final = 5


def of(
    asked: Asked,
    describe: Callable[[Scene, Hazard], str],
    *labels: str,
) -> Callable[[Scene], Iterator[Found]]:
    """Find the hazards of which that is true; `labels`: by which they are told apart."""

    def find(scene: Scene) -> Iterator[Found]:
        alike: dict[tuple[tuple[str, str], ...], list[Hazard]] = {}
        for hazard in filter(asked, scene.view.dangers):
            told = _labels(hazard)
            alike.setdefault(tuple((each, told[each]) for each in labels), []).append(hazard)
        for named, found in alike.items():
            yield Found(
                labels=dict(named),
                description=describe(scene, found[0]),
                details=tuple(line for each in found for line in _details(each)),
                since_ms=min((e.since_ms for e in found if e.since_ms is not None), default=None),
            )

    return find


def is_over(scene: Scene, labels: Mapping[str, str]) -> bool:
    """Whether everything is known that would show this hazard."""
    return not hazards_not_known(scene.view, HazardKind(labels["hazard"]))


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
