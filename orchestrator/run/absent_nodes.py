"""Rejects conditions on a broker or controller that a cluster does not have."""

from collections.abc import Iterable

from migration.assessment.conditions import Condition, View
from migration.assessment.conditions.existence import absent
from orchestrator.errors import UnknownIdError


def refuse_absent(conditions: Iterable[Condition], view: View) -> None:
    """Check the ids that conditions name, as far as the sources are current.

    Raises:
        UnknownIdError: the cluster has no such broker or controller.
    """
    for each in conditions:
        why = absent(each, view)
        if why is not None:
            raise UnknownIdError(f"{each.text}: {why}")
