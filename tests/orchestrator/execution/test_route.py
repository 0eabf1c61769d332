"""Where a runbook comes near finalizing."""

import pytest

from orchestrator.execution.route import finalize_is_near
from orchestrator.runbook.load import load

BUNDLED = load("zk-to-kraft-jbod").runbook


@pytest.mark.parametrize(
    ("at", "near"),
    [
        ("preflight", False),
        ("copied", False),
        ("brokers-kraft[3]", False),
        ("soak", True),
        ("finalize[3000]", True),
        ("finalized", False),
        (None, False),
    ],
)
def test_finalizing_is_near_from_the_soak_on(at: str | None, near: bool) -> None:
    assert finalize_is_near(BUNDLED, None, at) is near


def test_it_is_near_at_the_checkpoint_before_it() -> None:
    without = BUNDLED.model_copy(
        update={
            "checkpoints": tuple(
                each.model_copy(update={"opens_when": ()}) if each.id == "soak" else each
                for each in BUNDLED.checkpoints
            )
        }
    )
    assert finalize_is_near(without, None, "soak") is True
    assert finalize_is_near(without, None, "brokers-kraft[3]") is False


def test_it_is_not_near_in_a_rollback() -> None:
    assert finalize_is_near(BUNDLED, "from-kraft", "back-to-migration[1]") is False


def test_a_runbook_without_such_a_guard_says_nothing_of_it() -> None:
    assert finalize_is_near(load("disk-replacement").runbook, None, "accepted") is None
