"""What a walk needs of the outside, as narrow interfaces; tests give their own."""

from collections.abc import Mapping
from typing import Protocol

from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.hooks.runs import Hook, Look


class Commands(Protocol):
    """The operator's own commands, which do steps."""

    def hook(
        self, step: str, fields: Mapping[str, str], environment: Mapping[str, str]
    ) -> Hook | None:
        """The command that does a step; None: a person does it."""


class Runs(Protocol):
    """Runs of hooks that outlive this process; see `HookRuns`."""

    def start(self, run_id: str, hook: Hook) -> None:
        """Hand a command to its supervisor."""

    def look(self, run_id: str) -> Look:
        """Tell what became of a run."""


class Lock(Protocol):
    """What lets only one orchestrator act on a cluster; see `ClusterLock`."""

    def begin(self, step: RunningStep, *, zookeeper_stands: bool) -> Held | NotHeld:
        """Check, right before a step, whether it is held, and record the step."""

    def running(self, *, zookeeper_stands: bool) -> RunningStep | None:
        """Return the step that is recorded."""

    def end(self, step: RunningStep) -> bool:
        """Remove the record of a step that has ended; return whether it is gone."""
