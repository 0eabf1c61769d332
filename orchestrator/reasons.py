"""What a cluster waits for, beside what the checkpoint of its walk waits for."""

from typing import Final

from migration.assessment.waits.cluster import waits
from migration.assessment.waits.wait import Wait, WaitKind
from orchestrator.following import Snapshot

_ADVICE: Final = frozenset(
    {
        WaitKind.BROKER_IN_ZOOKEEPER_MODE,
        WaitKind.ROLLING_BACK,
        WaitKind.CONTROLLERS,
        WaitKind.REGISTRATIONS,
        WaitKind.COPY,
        WaitKind.FINALIZE,
        WaitKind.ROLLED_BACK,
    }
)
"""Which step comes next; while a runbook is walked, perhaps back, that is the runbook's to say."""

_AHEAD: Final = frozenset({WaitKind.BROKER_IN_ZOOKEEPER_MODE, WaitKind.FINALIZE})
"""Steps ahead; a rollback that was aborted has not turned round."""


def reasons_of(one: Snapshot, now_ms: int, stall_after_ms: int) -> tuple[Wait, ...]:
    """Give the reasons, most important first."""
    found = waits(one.summary, one.status, now_ms, stall_after_ms)
    if one.walk is None:
        return found
    if one.walk.outcome is None:
        return tuple(each for each in found if each.kind not in _ADVICE)
    if one.walk.outcome == "aborted" and one.walk.path is not None:
        return tuple(each for each in found if each.kind not in _AHEAD)
    return found
