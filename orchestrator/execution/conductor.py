"""Runs one executor for each cluster that has a runbook, and passes every tick to it."""

import os
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from typing import Final

from migration.assessment.polled import NOT_POLLED, Polled
from orchestrator.audit import AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import RUNBOOKS, Body, RecordedFinding
from orchestrator.audit.execution.running_step import Home
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry, RunbookEntry
from orchestrator.config.targets import ensemble_of
from orchestrator.errors import ExecutionError, LockHeld
from orchestrator.execution.approvals import this_person
from orchestrator.execution.evidence import evidence
from orchestrator.execution.executor import Executor, TickResult
from orchestrator.execution.fact_sources import finder_for
from orchestrator.execution.judge import Judge
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import StoreLock
from orchestrator.execution.locks.zookeeper_lock import ZooKeeperLock
from orchestrator.execution.route import finalize_is_near
from orchestrator.execution.step_fence import end_own
from orchestrator.execution.step_fields import Fields
from orchestrator.execution.steps import Record, Steps
from orchestrator.hooks.runs import HookRuns
from orchestrator.hooks.step_commands import HookCommands
from orchestrator.process.owner import Owner
from orchestrator.run import execution_status
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.runbook.hooks_file import Hooks, load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded
from streams.state.source_status import now_ms

_TELL_EVERY_MS: Final = 2_000


class Conductor:
    """Executes the runbook of every configured cluster that names one, until it is closed.

    Args:
        log: the audit trail; the caller that opened it closes it.
        execute: whether hooks perform the steps that have one.

    Raises:
        RunbookError: a runbook or a file of hooks cannot be used.
        ExecutionError: there is nothing to execute, or a runbook was changed during its execution.
        LockHeld: another orchestrator acts on a cluster.
        AuditError: the audit trail cannot be written.
    """

    def __init__(self, config: Config, log: AuditLog, *, execute: bool) -> None:
        self._executions: dict[str, _ClusterExecution] = {}
        named = {each.name: each.runbook for each in config.clusters if each.runbook is not None}
        if execute and not any(each.hooks for each in named.values()):
            raise ExecutionError(
                f"{config.path}: --execute requires `runbook.hooks`. Name a file of hooks there"
            )
        with ExitStack() as made:
            for entry in config.clusters:
                if entry.name in named:
                    one = _ClusterExecution(config, entry, named[entry.name], log, execute=execute)
                    self._executions[entry.name] = made.enter_context(closing(one))
            self._made = made.pop_all()

    def take_in(self) -> None:
        """Store the answers that have arrived; call it before the read of the tick."""
        for one in self._executions.values():
            one.take_in()

    def execution(self, cluster: str) -> ExecutionStatus | None:
        """Return how far the execution on a cluster is; None: the cluster names no runbook."""
        one = self._executions.get(cluster)
        return None if one is None else one.status

    def polled(self, cluster: str) -> Polled:
        """Return the latest answers of the sources that the checkpoint of a cluster needs."""
        one = self._executions.get(cluster)
        return NOT_POLLED if one is None else one.polled()

    def tick(self, tick: Tick) -> None:
        """Continue every execution with this tick, whose data was read after `take_in`.

        Raises:
            FencedOff: another orchestrator took over one of the clusters.
            AuditError: the audit trail cannot be written.
        """
        for one in tick.clusters:
            if one.name in self._executions:
                self._executions[one.name].tick(one)

    def close(self) -> None:
        """Release locks and files; running hooks continue, and the next process finds them."""
        self._made.close()


class _ClusterExecution:
    """The execution on one cluster, with everything it needs."""

    def __init__(
        self,
        config: Config,
        entry: ClusterEntry,
        runbook: RunbookEntry,
        log: AuditLog,
        *,
        execute: bool,
    ) -> None:
        self._entry = entry
        self._home = config.state_dir / "clusters" / entry.name
        self._loaded = load(runbook.file)
        hooks = None
        if execute and runbook.hooks is not None:
            hooks = load_hooks(runbook.hooks, self._loaded.runbook)
            hooks.check_passed(os.environ)
        self._owner = Owner.myself(now_ms())
        self._trail = ExecutionTrail(log, entry.name)
        self.status = execution_status.read(self._home / execution_status.EXECUTION_FILE)
        self._written = False
        with ExitStack() as made:
            zookeeper = None
            if hooks is not None and entry.zookeeper is not None:
                zookeeper = ZooKeeperLock(ensemble_of(entry.zookeeper), self._owner)
            store = StoreLock(config.state_dir, entry.name, log, self._owner)
            lock = made.enter_context(closing(ClusterLock(store, zookeeper)))
            self._fence, home = self._acquire(lock, config.state_dir)
            self._record_start(config.state_dir, hooks)
            self._finder = finder_for(config, entry, self._loaded.runbook)
            made.enter_context(closing(self._finder))
            self._executor = Executor(
                loaded=self._loaded,
                trail=self._trail,
                fence=self._fence,
                judge=Judge(self._finder),
                steps=lambda record: self._steps(record, hooks, lock, config.state_dir, home),
            )
            made.callback(self._record_end)
            self._made = made.pop_all()

    def _acquire(self, lock: ClusterLock, state_dir: Path) -> tuple[int, Home]:
        """Take the locks.

        If another orchestrator holds them, remove the record of an own step that has ended, then
        raise.
        """
        home = Home.of(state_dir)
        try:
            return lock.acquire(), home
        except LockHeld:
            end_own(lock, HookRuns(state_dir), home)
            raise

    def _steps(
        self, record: Record, hooks: Hooks | None, lock: ClusterLock, state_dir: Path, home: Home
    ) -> Steps:
        return Steps(
            fields=Fields(self._entry),
            commands=None if hooks is None else HookCommands(hooks),
            runs=HookRuns(state_dir),
            lock=lock,
            home=home,
            environment={
                "KRAFTGATE_CLUSTER": self._entry.name,
                "KRAFTGATE_FENCE": str(self._fence),
            },
            record=record,
        )

    def take_in(self) -> None:
        """Store the answers that have arrived."""
        self._finder.take_in()

    def polled(self) -> Polled:
        """Return the latest answers of the polled sources; poll again those that are due."""
        return self._finder.polled()

    def tick(self, one: Assessed) -> None:
        """Continue the execution with this tick, and write its status."""
        self._finder.note(one.read)
        result = self._executor.tick(one.assessment.view, evidence(one.read))
        if result is not None:
            self._write_status(result, one.now_ms)

    def _record_start(self, state_dir: Path, hooks: Hooks | None) -> None:
        """Begin an execution if there never was one, and record which orchestrator runs it."""
        _keep(state_dir / RUNBOOKS / f"{self._loaded.sha256}.yaml", self._loaded)
        if self._trail.state() is None:
            began = entries.ExecutionBegan(
                runbook=self._loaded.runbook.name,
                sha256=self._loaded.sha256,
                by=this_person(),
                reason="kraftgate run",
            )
            self._record(began)
        started = entries.OrchestratorStarted(
            owner=self._owner.words(),
            version=version("kraftgate"),
            execute=hooks is not None,
            hooks_sha256=None if hooks is None else hooks.sha256,
            fence=self._fence,
        )
        self._record(started)

    def _record_end(self) -> None:
        ended = entries.OrchestratorEnded(owner=self._owner.words(), reason="it was stopped")
        self._record(ended)

    def _record(self, body: Body) -> None:
        self._trail.append(body, now_ms(), self._fence)

    def _write_status(self, result: TickResult, at_ms: int) -> None:
        status = execution_status.told(
            result.execution,
            at_ms,
            checkpoint=result.checkpoint,
            title=result.title,
            holds=result.holds,
            findings=tuple(RecordedFinding.of(each) for each in result.findings),
            people=result.people,
            finalize_is_near=finalize_is_near(
                self._loaded.runbook, result.execution.path, result.checkpoint
            ),
        )
        before = self.status
        same = before is not None and before.says_the_same(status, _TELL_EVERY_MS)
        if same and self._written:
            return
        self.status, self._written = status, True
        execution_status.write(self._home / execution_status.EXECUTION_FILE, status)

    def close(self) -> None:
        """Record that this orchestrator ends, and release the locks."""
        self._made.close()


def _keep(file: Path, loaded: Loaded) -> None:
    """Store a copy of the executed runbook: the audit trail names it by its hash."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(loaded.path.read_bytes())
