"""The metrics of one tick's hazards and waits."""

from typing import Final

from migration.assessment.conditions import hazards_not_known
from migration.assessment.currency import SourceState
from migration.assessment.hazards import HazardKind
from migration.assessment.waits.wait import WaitKind
from orchestrator.run.assessed import Assessed
from orchestrator.views.metrics.exposition import Exposition, Subject

JUDGED: Final = Subject("kraftgate", "cluster")

_HAZARD: Final = JUDGED.gauge(
    "hazard",
    "1 for each active hazard, with its broker, if any, and the step that it blocks, if any.",
    "hazard",
    "severity",
    "blocks",
    "broker",
)
_HAZARD_ACTIVE: Final = JUDGED.gauge(
    "hazard_active",
    "Whether a hazard of this kind is active. 0 only if every source that would show "
    "it is current.",
    "hazard",
)
_HAZARDS_KNOWN: Final = JUDGED.gauge(
    "hazards_known", "Whether every source that would show a hazard is current."
)
_WAITS: Final = JUDGED.gauge(
    "waits", "Waits of this name. While a source is not current, only the wait for it.", "wait"
)


def tell_hazards(into: Exposition, one: Assessed) -> None:
    """Add the active hazards, and for each kind whether it is active, where that is known."""
    name = one.name
    known = not hazards_not_known(one.assessment.view)
    standing = {each.kind for each in one.hazards}
    for each in one.hazards:
        broker = "" if each.broker is None else each.broker
        into.value(_HAZARD, 1, name, each.kind, each.severity, each.blocks or "", broker)
    for kind in HazardKind:
        if known or kind in standing:
            into.value(_HAZARD_ACTIVE, kind in standing, name, kind)
    into.value(_HAZARDS_KNOWN, known, name)


def tell_waits(into: Exposition, one: Assessed) -> None:
    """Add the number of waits of each kind; if the metadata log is not current, of found kinds."""
    found = [each.kind for each in one.waits]
    complete = one.assessment.log.state is SourceState.CURRENT
    for kind in WaitKind:
        if complete or kind in found:
            into.value(_WAITS, found.count(kind), one.name, kind)
