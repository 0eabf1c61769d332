"""Prevents a second orchestrator from acting while a hook of the first one may run.

The running step is recorded where every orchestrator of the cluster can read it
(`ClusterLock.begin`). The state directory of the orchestrator that began the step has the hook's
outcome. An orchestrator with another state directory, or with a copy of that one from before the
step, does not have it, so there an operator decides: `kraftgate decide CHECKPOINT --ended`.
"""

from collections.abc import Callable

from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.running_step import Home, RunningStep
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.execution.commands import Commands
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.hooks.runs import Ended, Hook, HookRuns, NotStarted, RunState, Unknown
from streams.process.clocks import wall_clock_ms


class StepFence:
    """The record of the running step, as used by one cluster's orchestrator.

    Args:
        home: the state directory of this orchestrator.
        record: appends to the audit trail.
        commands: those of this cluster.
    """

    def __init__(
        self,
        lock: ClusterLock,
        runs: HookRuns,
        home: Home,
        record: Callable[[Body], None],
        commands: Commands,
    ) -> None:
        self._lock = lock
        self._runs = runs
        self._home = home
        self._record = record
        self._commands = commands

    def begin(
        self, checkpoint: str, run: str, hook: Hook, *, has_zookeeper: bool
    ) -> Held | NotHeld:
        """Check the lock and record the step; its hook may be started only if the lock is held.

        Raises:
            HookError: the run cannot be prepared; nothing was recorded.
        """
        since_ms = wall_clock_ms()
        step = RunningStep(
            checkpoint=checkpoint,
            run=run,
            host=self._home.host,
            home=self._home.id,
            since_ms=since_ms,
            ends_ms=since_ms + round((hook.timeout_s + hook.patience_s) * 1000),
        )
        self._runs.prepare(run, step.model_dump())
        return self._lock.begin(step, has_zookeeper=has_zookeeper)

    def settle(self, execution: ExecutionState, *, has_zookeeper: bool) -> None:
        """Remove the record of a step that has ended, by its outcome or by a decision."""
        step = self._running(execution, has_zookeeper=has_zookeeper)
        if step is not None and self._has_ended(step, execution) and self._lock.end(step):
            step = None
        if execution.elsewhere is not None and execution.elsewhere != step:
            self._record(entries.StepElsewhereEnded(step=execution.elsewhere))

    def waits(self, execution: ExecutionState, *, has_zookeeper: bool) -> str | None:
        """Return the text of a wait while a recorded step prevents another step."""
        step = self._running(execution, has_zookeeper=has_zookeeper)
        if step is None:
            return None
        if self._has_ended(step, execution):
            return f"ZooKeeper, to remove the record of {step.words()}: it has ended"
        if self._state(step, execution) is not None:
            return f"the end of {step.words()}"
        if execution.elsewhere != step:
            self._record(entries.StepElsewhere(step=step))
        return (
            f"a decision: {step.words()}, was begun by another orchestrator, or before this state"
            " directory was restored, and it is not known here whether its hook still runs. Check"
            " that host, or start kraftgate run with the state directory that began the step; when"
            f" the hook has ended: {self._commands.make('decide', step.checkpoint, '--ended')}"
        )

    def _running(self, execution: ExecutionState, *, has_zookeeper: bool) -> RunningStep | None:
        """Return the recorded step.

        While the record cannot be read (ZooKeeper is not connected, or the lock does not use it),
        one of another orchestrator counts until an operator decides that it has ended.
        """
        step = self._lock.running(has_zookeeper=has_zookeeper)
        unseen = execution.elsewhere if step is None else None
        return step if unseen is None or self._lock.is_readable else unseen

    def _has_ended(self, step: RunningStep, execution: ExecutionState) -> bool:
        if step == execution.decided_elsewhere:
            return True
        found = self._state(step, execution)
        if isinstance(found, Unknown):
            return not _is_open(step, execution)
        return isinstance(found, NotStarted | Ended)

    def _state(self, step: RunningStep, execution: ExecutionState) -> RunState | None:
        """Return the state of the hook; None: it is not known here.

        The outcome of an unknown run is an operator's decision in the trail, which may have been
        restored from before the step.
        """
        found = _own_state(self._runs, self._home, step)
        restored = isinstance(found, Unknown) and execution.last_run != step.run
        return None if restored else found


def end_own(lock: ClusterLock, runs: HookRuns, home: Home) -> None:
    """Remove the record of an own step that has ended, even while another owner has the lock.

    Raises:
        HookError: the state of the hook cannot be read.
    """
    step = lock.running(has_zookeeper=True)
    if step is not None and isinstance(_own_state(runs, home, step), NotStarted | Ended):
        lock.end(step)


def _own_state(runs: HookRuns, home: Home, step: RunningStep) -> RunState | None:
    """Return the state of the hook; None: another state directory began the step.

    A copy of the state directory has the same home, but not the run of a later step.
    """
    if not home.has(step) or not runs.is_prepared(step.run, step.model_dump()):
        return None
    return runs.state(step.run)


def _is_open(step: RunningStep, execution: ExecutionState) -> bool:
    """Return whether the trail has neither the end of the step nor a decision about it."""
    left = execution.left_running
    return (left is not None and left.run == step.run) or any(
        each.run == step.run and each.stage in (Stage.RUNNING, Stage.ASKS)
        for each in execution.checkpoints.values()
    )
