"""What every command that controls an execution needs: its cluster, audit trail and operator."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.audit.execution.entries import Body, Person
from orchestrator.audit.execution.state import CheckpointState, ExecutionState
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.opening import open_for_entry
from orchestrator.config.identifiers import clusters_named
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import WalkError
from orchestrator.execution.approvals import this_person
from orchestrator.output.printing import echo
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An operator's request: who makes it, for which cluster's execution, and why.

    Attributes:
        by: the operator, if not the user of this process; `who` is then ignored.
        confirm: given the cluster's name, asks the operator to type it; None: there is no one to
            ask.
        say: prints what was done.
    """

    config_path: Path
    cluster: str | None
    who: str | None
    reason: str
    by: Person | None = None
    confirm: Callable[[str], str | None] = lambda _: None
    say: Callable[[str], None] = echo


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A cluster's audit trail, opened for one operator's request."""

    config: Config
    entry: ClusterEntry
    trail: ExecutionTrail
    by: Person
    now_ms: int
    say: Callable[[str], None]

    def walk(self) -> ExecutionState:
        """Return the execution, which has not ended.

        Raises:
            WalkError: none has begun, or it has ended.
        """
        walk = self.trail.state()
        if walk is None:
            raise WalkError(f"no walk has begun for {self.entry.name}: start kraftgate run")
        if walk.outcome is not None:
            raise WalkError(
                f"the walk of {self.entry.name} has ended ({walk.outcome}): kraftgate begin"
                " begins a new one"
            )
        return walk

    def current(self, checkpoint: str | None) -> tuple[ExecutionState, CheckpointState]:
        """Return the execution and its current checkpoint, which must be `checkpoint` if given.

        Raises:
            WalkError: there is no current checkpoint, or it is another one.
        """
        walk = self.walk()
        place = walk.current
        if place is None:
            raise WalkError(f"the walk of {self.entry.name} is between two checkpoints: once more")
        if checkpoint is not None and place.id != checkpoint:
            raise WalkError(f"the walk of {self.entry.name} stands at {place.id}, not {checkpoint}")
        return walk, place

    def tell(self, body: Body, words: str) -> None:
        """Append the entry, and print what was done."""
        self.trail.append(body, self.now_ms)
        self.say(f"{self.entry.name}: {words}")


@contextmanager
def opened(said: Said) -> Iterator[Opened]:
    """Open the audit trail of the requested cluster.

    Raises:
        WalkError: the cluster is ambiguous, or the reason is missing.
        AuditError: the audit trail cannot be opened.
    """
    config = load_config(said.config_path)
    entry = _entry(config, said.cluster)
    if not said.reason.strip():
        raise WalkError("a reason is needed: --reason '...', it stands in the audit trail")
    with open_for_entry(config) as log:
        yield Opened(
            config=config,
            entry=entry,
            trail=ExecutionTrail(log, entry.name),
            by=said.by or this_person(said.who),
            now_ms=time.time_ns() // 1_000_000,
            say=said.say,
        )


def _entry(config: Config, name: str | None) -> ClusterEntry:
    found = clusters_named(config, name)
    if len(found) != 1:
        names = ", ".join(each.name for each in config.clusters)
        raise WalkError(f"say of which cluster with --cluster: {names}")
    return found[0]


def runbook_of(entry: ClusterEntry, walk: ExecutionState | None) -> Loaded:
    """Return the cluster's runbook, which must be the one of the execution.

    Raises:
        WalkError: none is configured, or it was changed since the execution began.
        RunbookError: it cannot be used.
    """
    if entry.runbook is None:
        raise WalkError(f"no `runbook` is configured for {entry.name}")
    loaded = load(entry.runbook.file)
    if walk is not None and loaded.sha256 != walk.sha256:
        raise WalkError(
            f"{loaded.path} was changed since this walk began with it: put it back, or end the walk"
            " (kraftgate abort) and begin anew (kraftgate begin); gates that hold open again"
        )
    return loaded
