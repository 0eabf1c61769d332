"""The conditions of a checkpoint, read for the broker or controller that it is about."""

from collections.abc import Sequence

from migration.assessment.conditions import Condition, parse
from orchestrator.execution.judge import Part
from orchestrator.execution.route import Stop
from orchestrator.runbook.model import Runbook


class Conditions:
    """Reads each part of each stop once; the runbook was checked, so that all of them can be."""

    def __init__(self, runbook: Runbook) -> None:
        self._own = frozenset(each.name for each in runbook.conditions)
        self._read: dict[tuple[str, Part], Sequence[Condition]] = {}

    def of(self, stop: Stop, part: Part) -> Sequence[Condition]:
        """Give a part's conditions, bound."""
        key = (stop.id, part)
        if key not in self._read:
            texts: Sequence[str] = getattr(stop.checkpoint, part)
            self._read[key] = [parse(each, bind=stop.bind, own=self._own) for each in texts]
        return self._read[key]
