"""Which actions an execution allows; the real commands refuse the others."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from migration.assessment.conditions import DataSource, View
from migration.image.summary import ControllerSummary, Phase
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Person
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.errors import HookError
from orchestrator.execution.allowed import Place, allowed
from orchestrator.hooks.runs import HookRuns, RunState, Unknown
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded
from tests.scenes.night import NOW_MS, cluster, kraft

LOADED = load("zk-to-kraft-jbod")
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


class Runs(HookRuns):
    """One run, whose supervisor is gone."""

    def __init__(self, *left: int) -> None:
        self.left: tuple[int, ...] | None = left

    def state(self, run_id: str) -> RunState:
        if self.left is None:
            raise HookError(f"the files of {run_id} cannot be read")
        return Unknown(why="its supervisor is gone", still_running=self.left)


def can(
    execution: ExecutionState,
    view: View | None = None,
    *,
    loaded: Loaded = LOADED,
    runs: HookRuns | None = None,
    hooks: Path | None = None,
    has_hook: bool = False,
) -> list[str]:
    place = None
    if execution.current is not None:
        place = Place(
            execution=execution,
            state=execution.current,
            loaded=loaded,
            view=lambda: view or of_controllers(),
            runs=runs or Runs(),
            hooks=hooks,
            has_hook=lambda _: has_hook,
        )
    return list(allowed(execution, place))


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
    view = of_controllers(3000, 3001, 3002, phase=Phase.FINALIZED)
    found = can(at("log-dirs[1]", Stage.ENTERED), view, loaded=load("kraft-jbod"))
    assert "rollback" in found


def of_unknown_end(stage: Stage) -> ExecutionState:
    state = CheckpointState(id="copied", stage=stage, run="1-copied-1", outcome_unknown=True)
    return replace(FIRST, checkpoints={"copied": state})


def test_beside_processes_of_a_hook_only_the_decision_that_the_step_is_done_is_offered() -> None:
    runs = Runs(4711)
    assert can(of_unknown_end(Stage.ASKS), runs=runs) == ["done", "pause", "abort"]
    decided = can(of_unknown_end(Stage.STEP_DONE), runs=runs)
    assert decided == ["skip", "rollback", "pause", "abort"]
    runs.left = None  # unknown is never treated as ended
    assert can(of_unknown_end(Stage.ASKS), runs=runs) == ["done", "pause", "abort"]
    runs.left = ()
    every = ["repeat", "done", "skip", "rollback", "pause", "abort"]
    assert can(of_unknown_end(Stage.ASKS), runs=runs) == every


@pytest.mark.parametrize(
    ("stage", "action"),
    [(Stage.ASKS, "repeat"), (Stage.STEP_DONE, "repeat"), (Stage.SHOWN, "execute")],
)
def test_no_hook_of_a_changed_file_is_offered(tmp_path: Path, stage: Stage, action: str) -> None:
    """`kraftgate run` has the commands from its start."""
    hooks = tmp_path / "hooks.yaml"
    hooks.write_text("hooks: 1\n")
    sha256 = hashlib.sha256(hooks.read_bytes()).hexdigest()
    execution = at("brokers-kraft[1]", stage, execute=True, hooks_sha256=sha256)
    assert action in can(execution, hooks=hooks, has_hook=True)
    hooks.write_text("hooks: 1  # changed\n")
    assert action not in can(execution, hooks=hooks, has_hook=True)
    hooks.unlink()
    assert action not in can(execution, hooks=hooks, has_hook=True)
    assert action not in can(execution, has_hook=True), "the configuration names none any more"
