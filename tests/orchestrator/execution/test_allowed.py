"""Which actions an execution allows; the real commands refuse the others."""

from dataclasses import replace

import pytest

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.execution.allowed import allowed
from orchestrator.execution.route import CheckpointInstance, checkpoint_of
from orchestrator.runbook.load import load

RUNBOOK = load("zk-to-kraft-jbod").runbook
ANNA = Person(who="anna", login="anna", host="ops1")
FIRST = ExecutionState(runbook="zk-to-kraft-jbod", sha256="0", sequence=1, began_ms=0)


def at(id_: str, stage: Stage, **changes: object) -> ExecutionState:
    state = CheckpointState(id=id_, stage=stage)
    return replace(FIRST, checkpoints={id_: state}, **changes)  # type: ignore[arg-type]


def can(execution: ExecutionState, *, has_hook: bool = False) -> list[str]:
    state = execution.current
    instance = None
    if state is not None:
        checkpoint = checkpoint_of(RUNBOOK, execution.path, state.id)
        instance = CheckpointInstance(id=state.id, checkpoint=checkpoint, bind={})
    return list(allowed(execution, RUNBOOK, instance, has_hook=has_hook))


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
        (at("finalize[3000]", Stage.STEP_DONE), ["pause", "abort"]),
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
