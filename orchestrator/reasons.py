"""What a cluster waits for, beside what the checkpoint of its walk waits for."""

from typing import Final

from migration.wait import Wait, WaitKind
from migration.waits import waits
from orchestrator.following import Snapshot

_ADVICE: Final = frozenset(
    {
        WaitKind.BROKER_IN_ZOOKEEPER_MODE,
        WaitKind.CONTROLLERS,
        WaitKind.REGISTRATIONS,
        WaitKind.COPY,
        WaitKind.FINALIZE,
        WaitKind.ROLLED_BACK,
    }
)
"""Which step comes next; while a runbook is walked, perhaps back, that is the runbook's to say."""


def reasons_of(one: Snapshot, now_ms: int, stall_after_ms: int) -> tuple[Wait, ...]:
    """Give the reasons, most important first."""
    found = waits(one.summary, one.status, now_ms, stall_after_ms)
    if one.walk is None or one.walk.outcome is not None:
        return found
    return tuple(each for each in found if each.kind not in _ADVICE)
