"""The status of an execution in its file, and a clock that is set back."""

from dataclasses import replace

from migration.assessment.conditions import Execution
from tests.orchestrator.views.terminal.scenes import WALK

HOUR_MS = 3_600_000


def test_after_the_clock_was_set_back_it_is_written_again() -> None:
    at_ms = WALK.at_ms
    assert WALK.says_the_same(WALK.model_copy(update={"at_ms": at_ms + 1999}), 2000)
    for other_ms in (at_ms + 2000, at_ms - 2000, at_ms - HOUR_MS):
        assert not WALK.says_the_same(WALK.model_copy(update={"at_ms": other_ms}), 2000)


def test_a_status_of_the_future_is_as_old_as_one_of_the_past() -> None:
    """So a `kraftgate run` that hangs after the clock was set back is noticed."""
    now_ms = 10 * HOUR_MS
    recorded = Execution(at_ms=now_ms, checkpoint="finalize", outcome=None)
    assert recorded.is_recent(now_ms)
    for at_ms in (now_ms - HOUR_MS, now_ms + HOUR_MS):
        assert not replace(recorded, at_ms=at_ms).is_recent(now_ms)
