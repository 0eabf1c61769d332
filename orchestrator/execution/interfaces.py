"""The interfaces of an execution to the outside; tests pass their own."""

from collections.abc import Mapping
from typing import Protocol

from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.hooks.runs import Hook, Look


class Commands(Protocol):
    """The operator's commands that perform steps."""

    def hook(
        self, step: str, fields: Mapping[str, str], environment: Mapping[str, str]
    ) -> Hook | None:
        """Return the command that performs a step; None: an operator does it by hand."""


class Runs(Protocol):
    """Runs of hooks that outlive this process; see `HookRuns`."""

    def start(self, run_id: str, hook: Hook) -> None:
        """Start the supervisor of a command."""

    def look(self, run_id: str) -> Look:
        """Return the state of a run."""


class Lock(Protocol):
    """The lock that lets only one orchestrator act on a cluster; see `ClusterLock`."""

    def begin(self, step: RunningStep, *, has_zookeeper: bool) -> Held | NotHeld:
        """Check, right before a step, that the lock is held, and record the step."""

    def running(self, *, has_zookeeper: bool) -> RunningStep | None:
        """Return the recorded step."""

    def end(self, step: RunningStep) -> bool:
        """Remove the record of a step that has ended; return whether it is gone."""
