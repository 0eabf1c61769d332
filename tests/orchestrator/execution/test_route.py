"""Where a runbook comes near finalizing, and the controllers that it finalizes."""

from dataclasses import replace

import pytest

from migration.assessment.conditions import DataSource, View
from migration.observed.source_status import SourceStatus
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.execution.route import (
    CheckpointInstance,
    UnknownInstance,
    controllers_stop,
    finalize_is_in_progress,
    finalize_is_near,
    next_checkpoint,
    place_of,
)
from orchestrator.runbook.load import load
from tests.migration.assessment.conditions.views import (
    NOW,
    SUMMARY,
    controller,
    quorum,
    stale,
    view,
)

BUNDLED = load("zk-to-kraft-jbod").runbook


def at_finalize(*passed: int) -> ExecutionState:
    names = [each.id for each in BUNDLED.checkpoints]
    ids = [*names[: names.index("finalize")], *(f"finalize[{each}]" for each in passed)]
    return ExecutionState(
        runbook=BUNDLED.name,
        sha256="",
        sequence=1,
        began_ms=NOW,
        checkpoints={id_: CheckpointState(id=id_, stage=Stage.PASSED) for id_ in ids},
    )


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


@pytest.mark.parametrize(
    ("at", "begun"),
    [
        ("brokers-kraft[3]", False),
        ("soak", False),
        ("finalize[3000]", True),
        ("zookeeper-off", True),
        (None, None),
    ],
)
def test_finalizing_is_in_progress_from_its_checkpoint_on(
    at: str | None, begun: bool | None
) -> None:
    assert finalize_is_in_progress(BUNDLED, None, at) is begun
    assert not finalize_is_in_progress(BUNDLED, "from-kraft", "back-to-migration[1]")
    assert finalize_is_in_progress(load("disk-replacement").runbook, None, "accepted") is None


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


@pytest.mark.parametrize(
    ("path", "at", "stage", "stop"),
    [
        ("from-hybrid", "zookeeper-current", Stage.ENTERED, False),
        ("from-hybrid", "back-controllers", Stage.ENTERED, False),
        ("from-hybrid", "back-controllers", Stage.STEP_DONE, True),
        ("from-hybrid", "back-controllers", Stage.SKIPPED, True),
        (None, "controllers", Stage.STEP_DONE, False),
    ],
)
def test_the_controllers_stop_once_their_step_was_begun(
    path: str | None, at: str, stage: Stage, stop: bool
) -> None:
    execution = replace(
        at_finalize(), path=path, checkpoints={at: CheckpointState(id=at, stage=stage)}
    )
    assert controllers_stop(BUNDLED, execution) is stop


def test_a_runbook_without_such_a_guard_says_nothing_of_it() -> None:
    assert finalize_is_near(load("disk-replacement").runbook, None, "accepted") is None


def test_a_controller_that_left_the_quorum_is_not_finalized() -> None:
    """3003 replaced 3002, whose registration Kafka keeps."""
    there = quorum(100, 200)
    there = replace(there, voters=(*there.voters[:2], replace(there.voters[2], id=3003)))
    known = (controller(3000), controller(3001, ready=False), controller(3002), controller(3003))
    now = view(replace(SUMMARY, controllers=known), quorum=there)
    execution = at_finalize(3001)
    found = next_checkpoint(execution, BUNDLED, now)
    assert isinstance(found, CheckpointInstance)
    assert found.id == "finalize[3003]"
    assert place_of(execution, BUNDLED, now, found.id).endswith(", controller 2 of 3")


@pytest.mark.parametrize(
    "now",
    [
        view(quorum=None),
        view(quorum=quorum(leader=None, voters=())),
        stale(DataSource.QUORUM),
        stale(DataSource.METADATA_LOG),
    ],
)
def test_no_controller_is_finalized_while_the_quorum_is_unknown(now: View) -> None:
    found = next_checkpoint(at_finalize(3000, 3001, 3002), BUNDLED, now)
    assert isinstance(found, UnknownInstance)
    assert found.polls == (DataSource.QUORUM,)


def test_a_place_without_known_members_has_no_number_of_them() -> None:
    place = place_of(at_finalize(), BUNDLED, view(quorum=None), "finalize[3000]")
    assert place.startswith("checkpoint ")
    assert "controller" not in place


@pytest.mark.parametrize(("leader", "epoch"), [(3000, 7), (None, 8)])
def test_the_active_controller_is_last_also_after_a_snapshot_and_an_election(
    leader: int | None, epoch: int
) -> None:
    status = SourceStatus(
        observed_ms=NOW, last_reply_ms=NOW, active_controller=leader, leader_epoch=epoch
    )
    summary = replace(SUMMARY, active_controller=None)
    now = view(summary, sources={DataSource.METADATA_LOG: status})
    found = next_checkpoint(at_finalize(), BUNDLED, now)
    assert isinstance(found, CheckpointInstance)
    assert found.id == "finalize[3001]"
