"""Runs one executor for each cluster that has a runbook, and passes every tick to it."""

import os
from contextlib import ExitStack, closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

from migration.assessment.polled import NOT_POLLED, Polled
from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from orchestrator.audit import AuditLog
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body
from orchestrator.audit.execution.running_step import Home
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry, RunbookEntry
from orchestrator.errors import ClaimLost, ExecutionError, HookError, LockError, LockHeld
from orchestrator.execution.approvals import this_person
from orchestrator.execution.commands import Commands
from orchestrator.execution.executor import Executor
from orchestrator.execution.facts import FactFinder
from orchestrator.execution.kept_runbook import kept_runbook
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.step_fence import end_own
from orchestrator.execution.steps import Steps
from orchestrator.hooks.commands import cluster_environment, hook_for
from orchestrator.hooks.runs import HookRuns
from orchestrator.process.crash import why_ended
from orchestrator.process.owner import Owner
from orchestrator.run import execution_status
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.execution_status import ExecutionStatus
from orchestrator.run.reader import ClusterRead
from orchestrator.runbook.hooks_file import Hooks, load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded
from streams.process.clocks import wall_clock_ms
from streams.state.files import make_parents, replace_file

_WRITE_EVERY_MS: Final = 2_000
_Ended: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
"""How a block ended: without an error, or with one."""


class Conductor:
    """Executes the runbook of every configured cluster that names one, until it is closed.

    Args:
        log: the audit trail; the caller that opened it closes it.
        execute: whether hooks perform the steps that have one.

    Raises:
        RunbookError: a runbook or a file of hooks cannot be used.
        ExecutionError: there is nothing to execute, or a runbook was changed during its execution.
        LockHeld: another orchestrator acts on a cluster.
        LockError: the lock of a cluster cannot be taken.
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
                    self._executions[entry.name] = made.enter_context(one)
            self._made = made.pop_all()

    def store_answers(self) -> None:
        """Store the answers that have arrived; call it before the read of the tick."""
        for one in self._executions.values():
            one.facts.store_answers()

    def execution(self, cluster: str) -> ExecutionStatus | None:
        """Return how far the execution on a cluster is; None: the cluster names no runbook."""
        one = self._executions.get(cluster)
        return None if one is None else one.status

    def polled(self, cluster: str) -> Polled:
        """Return the latest answers of the sources that the checkpoint of a cluster needs."""
        one = self._executions.get(cluster)
        return NOT_POLLED if one is None else one.facts.polled()

    def tick(self, tick: Tick) -> None:
        """Continue every execution with this tick, whose data was read after `store_answers`.

        Raises:
            AuditError: another orchestrator took over one of the clusters, or the audit trail
                cannot be written.
            HookError: the state of a hook of the only cluster cannot be read.
        """
        for one in tick.clusters:
            if one.name in self._executions:
                self._executions[one.name].tick(one)

    def __enter__(self) -> "Conductor":
        return self

    def __exit__(self, *ended: *_Ended) -> None:
        """Release locks and files; running hooks continue, and the next process finds them."""
        self._made.__exit__(*ended)


class _ClusterExecution:
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
        self._is_only = len(config.clusters) == 1
        self._home = config.state_dir / "clusters" / entry.name
        self._loaded = load(runbook.file)
        hooks = None
        if execute and runbook.hooks is not None:
            hooks = load_hooks(runbook.hooks, self._loaded.runbook)
            hooks.check_passed(os.environ)
        self._owner = Owner.myself(wall_clock_ms())
        self._trail = ExecutionTrail(log, entry.name)
        commands = Commands.of(config, entry.name)
        self.status = execution_status.read_for(config.state_dir, entry.name)
        self._written = False
        with ExitStack() as made:
            lock = made.enter_context(
                closing(
                    ClusterLock.of(config, entry, log, self._owner, runs_hooks=hooks is not None)
                )
            )
            self._fence, home = self._acquire(lock, config.state_dir)
            self._record_start(config.state_dir, hooks)
            self.facts = FactFinder.of(config, entry, self._loaded.runbook)
            made.enter_context(closing(self.facts))
            self._executor = Executor(
                loaded=self._loaded,
                trail=self._trail,
                fence=self._fence,
                facts=self.facts,
                steps=lambda record: Steps(
                    entry=entry,
                    make_hook=None if hooks is None else partial(hook_for, hooks),
                    runs=HookRuns(config.state_dir),
                    lock=lock,
                    home=home,
                    environment=cluster_environment(entry.name, self._fence),
                    commands=commands,
                    record=record,
                ),
                commands=commands,
                state_dir=config.state_dir,
            )
            made.push(self._record_end)
            self._made = made.pop_all()

    def _acquire(self, lock: ClusterLock, state_dir: Path) -> tuple[int, Home]:
        """Take the locks.

        If another orchestrator holds them, remove the record of this orchestrator's step if that
        has ended, then raise.

        Raises:
            LockHeld: another orchestrator holds one; the message names the cluster.
            LockError: one cannot be taken; the message names the cluster.
            AuditError: the audit trail cannot be written.
        """
        home = Home.of(state_dir)
        try:
            return lock.acquire(), home
        except LockHeld as error:
            end_own(lock, HookRuns(state_dir), home)
            raise LockHeld(f"{self._entry.name}: {error}") from error
        except LockError as error:
            raise LockError(
                f"{self._entry.name}: the lock of the cluster cannot be taken: {error}. Without"
                " --execute, `kraftgate run` follows the clusters and needs no lock in ZooKeeper"
            ) from error

    def tick(self, one: Assessed) -> None:
        """Continue the execution with this tick, and write its status."""
        self.facts.note(one.read)
        try:
            status = self._executor.tick(one.assessment.view, _evidence(one.read))
        except HookError as error:
            if self._is_only:
                raise
            status = self._executor.failed(error)
        if status is None:
            return
        same = self.status is not None and self.status.says_the_same(status, _WRITE_EVERY_MS)
        if not same or not self._written:
            self.status, self._written = status, True
            execution_status.write(self._home / execution_status.EXECUTION_FILE, status)

    def _record_start(self, state_dir: Path, hooks: Hooks | None) -> None:
        """Begin an execution if there never was one, and record which orchestrator runs it."""
        _keep(kept_runbook(state_dir, self._loaded.sha256), self._loaded)
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

    def _record_end(self, *ended: *_Ended) -> None:
        _, error, _ = ended
        if not isinstance(error, ClaimLost):
            reason = why_ended(error) or "it was stopped"
            self._record(entries.OrchestratorEnded(owner=self._owner.words(), reason=reason))

    def _record(self, body: Body) -> None:
        self._trail.append(body, wall_clock_ms(), self._fence)

    def __enter__(self) -> "_ClusterExecution":
        return self

    def __exit__(self, *ended: *_Ended) -> None:
        """Record that this orchestrator ends, and release the locks."""
        self._made.__exit__(*ended)


def _keep(file: Path, loaded: Loaded) -> None:
    """Store a copy of the executed runbook: the audit trail names it by its hash."""
    if not file.exists():
        make_parents(file, 1)
        replace_file(file, loaded.text)


def _evidence(one: ClusterRead) -> dict[str, object]:
    """Return, for each source, the values that identify its state."""
    summary, status = one.summary, one.status
    return {
        "phase": str(summary.phase),
        "metadata_log": {
            "offset": summary.metadata_offset,
            "leader_epoch": summary.leader_epoch,
            "high_watermark": status.high_watermark,
            "active_controller": status.active_controller,
            "answered_ms": status.last_reply_ms,
        },
        "zookeeper": _zookeeper(summary.zookeeper),
        "log_dirs": _disks(summary.disks),
    }


def _zookeeper(seen: ZooKeeperImage | None) -> dict[str, object] | None:
    if seen is None:
        return None
    return {
        "server": seen.server,
        "seen_ms": seen.seen_ms,
        "blind_since_ms": seen.blind_since_ms,
        "znodes": {
            path: {"version": version, "mzxid": mzxid}
            for path, (version, mzxid) in sorted(seen.versions.items())
        },
    }


def _disks(seen: DisksImage | None) -> dict[str, object] | None:
    if seen is None:
        return None
    return {
        str(one.id): {"answered_ms": one.answered_ms, "unreachable": one.unreachable}
        for one in seen.brokers.values()
    }
