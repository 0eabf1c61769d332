"""Which actions an execution allows; the real commands refuse the others."""

from dataclasses import replace

import pytest

from migration.assessment.conditions import DataSource, View
from migration.image.summary import ControllerSummary, Phase
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.execution.allowed import allowed
from orchestrator.execution.route import CheckpointInstance, checkpoint_of
from orchestrator.runbook.load import load
from tests.scenes.night import NOW_MS, cluster, kraft

RUNBOOK = load("zk-to-kraft-jbod").runbook
ANNA = Person(who="anna", login="anna", host="ops1")
FIRST = ExecutionState(runbook="zk-to-kraft-jbod", sha256="0", sequence=1, began_ms=0)


def at(id_: str, stage: Stage, **changes: object) -> ExecutionState:
    state = CheckpointState(id=id_, stage=stage)
    return replace(FIRST, checkpoints={id_: state}, **changes)  # type: ignore[arg-type]


def of_controllers(*left: int, phase: Phase = Phase.DUAL_WRITE) -> View:
    """Return three controllers, some of which run without the migration."""
    controllers = tuple(
        ControllerSummary(
            id=each, zk_migration_ready=each not in left, registered_offset=7, registered_ms=None
        )
        for each in (3000, 3001, 3002)
    )
    summary = replace(cluster(phase, kraft(1)), controllers=controllers)
    return View(summary=summary, now_ms=NOW_MS, stall_after_ms=300_000, not_current={})


def can(
    execution: ExecutionState, view: View | None = None, *, has_hook: bool = False
) -> list[str]:
    state = execution.current
    instance = None
    if state is not None:
        checkpoint = checkpoint_of(RUNBOOK, execution.path, state.id)
        instance = CheckpointInstance(id=state.id, checkpoint=checkpoint, bind={})
    view = view or of_controllers()
    return list(allowed(execution, RUNBOOK, instance, view, has_hook=has_hook))


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (FIRST, ["pause", "abort"]),
        (replace(FIRST, outcome="aborted"), ["begin"]),
        (at("brokers-kraft[1]", Stage.ENTERED), ["skip", "rollback", "pause", "abort"]),
        (at("brokers-kraft[1]", Stage.RUNNING), ["pause", "abort"]),
        (at("brokers-kraft[1]", Stage.SHOWN), ["done", "skip", "rollback", "pause", "abort"]),
        (
            at("brokers-kraft[1]", Stage.ASKS),
            ["repeat", "done", "skip", "rollback", "pause", "abort"],
        ),
        (at("finalize[3000]", Stage.ENTERED), ["approve", "rollback", "pause", "abort"]),
        (at("finalize[3000]", Stage.STEP_DONE), ["repeat", "pause", "abort"]),
        (
            at("back-to-migration[1]", Stage.SHOWN, path="from-kraft"),
            ["done", "skip", "pause", "abort"],
        ),
        (
            at("copied", Stage.ENTERED, paused=entries.Paused(by=ANNA, reason="a call")),
            ["skip", "rollback", "resume", "abort"],
        ),
    ],
)
def test_what_is_allowed(execution: ExecutionState, expected: list[str]) -> None:
    assert can(execution) == expected


def test_a_shown_step_can_be_handed_to_its_hook_while_hooks_run() -> None:
    assert "execute" in can(at("brokers-kraft[1]", Stage.SHOWN, execute=True), has_hook=True)
    assert "execute" not in can(at("brokers-kraft[1]", Stage.SHOWN), has_hook=True)


@pytest.mark.parametrize(
    ("id_", "view"),
    [
        ("finalize[3001]", of_controllers(3002)),
        ("finalize[3001]", replace(of_controllers(), not_current={DataSource.METADATA_LOG: "old"})),
        ("finalize[3001]", of_controllers(phase=Phase.FINALIZED)),
        ("soak", of_controllers(phase=Phase.FINALIZED)),
    ],
)
def test_no_rollback_is_offered_once_a_controller_may_have_left_the_migration(
    id_: str, view: View
) -> None:
    assert "rollback" in can(at(id_, Stage.ENTERED))
    assert "rollback" not in can(at(id_, Stage.ENTERED), view)


def test_a_runbook_in_kraft_mode_rolls_back_in_a_finalized_cluster() -> None:
    execution = at("log-dirs[1]", Stage.ENTERED)
    book, view = load("kraft-jbod").runbook, of_controllers(3000, 3001, 3002, phase=Phase.FINALIZED)
    checkpoint = checkpoint_of(book, None, "log-dirs[1]")
    instance = CheckpointInstance(id="log-dirs[1]", checkpoint=checkpoint, bind={})
    assert "rollback" in tuple(allowed(execution, book, instance, view, has_hook=False))
