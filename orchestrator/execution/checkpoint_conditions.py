"""Parses the conditions of a checkpoint for its broker or controller."""

from collections.abc import Sequence

from migration.assessment.conditions import Condition, parse
from orchestrator.execution.judge import Part
from orchestrator.execution.route import CheckpointInstance
from orchestrator.runbook.model import Runbook


class Conditions:
    """Parses each part of each stop once.

    The runbook was checked, so all conditions can be parsed.
    """

    def __init__(self, runbook: Runbook) -> None:
        self._own = frozenset(each.name for each in runbook.conditions)
        self._read: dict[tuple[str, Part], Sequence[Condition]] = {}

    def of(self, instance: CheckpointInstance, part: Part) -> Sequence[Condition]:
        """Return the conditions of a part, bound to the stop's broker or controller."""
        key = (instance.id, part)
        if key not in self._read:
            texts: Sequence[str] = getattr(instance.checkpoint, part)
            self._read[key] = [parse(each, bind=instance.bind, own=self._own) for each in texts]
        return self._read[key]
