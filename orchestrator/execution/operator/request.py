"""What every command that controls an execution needs: its cluster, audit trail and operator."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from migration.assessment.conditions import View
from orchestrator.audit import AUDIT_FILE
from orchestrator.audit.database import has_trail
from orchestrator.audit.execution.concern import concern
from orchestrator.audit.execution.entries import Aborted, Body, Paused, Person, Resumed
from orchestrator.audit.execution.state import CheckpointState, ExecutionState
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.audit.opening import open_for_entry
from orchestrator.config.load import Config, load_config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.state_dir import not_followed
from orchestrator.errors import ExecutionError
from orchestrator.execution.allowed import OfCheckpoint, Place, require
from orchestrator.execution.approvals import this_person
from orchestrator.execution.kept_runbook import kept_runbook, restore_words, set_words
from orchestrator.hooks.runs import HookRuns
from orchestrator.output.printing import echo
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import Reader
from orchestrator.runbook.hooks_file import load_hooks
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded
from streams.process.clocks import wall_clock_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page showed when the operator chose an action.

    Attributes:
        at: what the action concerned, by `concern`; None: the request does not say it.
        basis_id: of the state that was shown for an approval; None: as for `at`.
        basis: that state; None: it is not known any more.
    """

    action: str
    at: str | None
    basis_id: str | None = None
    basis: Mapping[str, str] | None = None

    def require(self, execution: ExecutionState) -> None:
        """Raise ExecutionError if the action would act on something else."""
        if self.at is not None and concern(self.action, execution) != self.at:
            raise ExecutionError(
                "the execution has moved on since this was shown: check what is asked for now"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRequest:
    """An operator's request: who makes it, for which cluster's execution, and why.

    Attributes:
        by: the operator, if not the user of this process; `who` is then ignored.
        confirm: given the cluster's name, asks the operator to type it; None: there is no one to
            ask.
        output: prints what was done.
        shown: what a page showed; None: the operator asks and acts at once.
        served: the configuration that the page is served with; None: no page sends this.
    """

    config_path: Path
    cluster: str | None
    who: str | None
    reason: str
    by: Person | None = None
    confirm: Callable[[str], str | None] = lambda _: None
    output: Callable[[str], None] = echo
    shown: Shown | None = None
    served: Config | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """A cluster's audit trail, opened for one operator's request."""

    config: Config
    entry: ClusterEntry
    trail: ExecutionTrail
    by: Person
    now_ms: int
    output: Callable[[str], None]

    def execution(self) -> ExecutionState:
        """Return the execution, which has not ended.

        Raises:
            ExecutionError: none has begun, or it has ended.
        """
        execution = self.trail.state()
        if execution is None:
            raise ExecutionError(_none_begun(self.entry.name))
        if execution.outcome is not None:
            raise ExecutionError(
                f"the execution of {self.entry.name} has ended ({execution.outcome}):"
                " kraftgate begin begins a new one"
            )
        return execution

    def current(self, checkpoint: str | None) -> tuple[ExecutionState, CheckpointState]:
        """Return the execution and its current checkpoint, which must be `checkpoint` if given.

        Raises:
            ExecutionError: there is no current checkpoint, or it is another one.
        """
        execution = self.execution()
        state = execution.current
        if state is None:
            fix = not_followed(self.config.state_dir) or "retry"
            raise ExecutionError(f"the execution of {self.entry.name} has no checkpoint now: {fix}")
        if checkpoint is not None and state.id != checkpoint:
            raise ExecutionError(
                f"the current checkpoint of {self.entry.name} is {state.id}, not {checkpoint}"
            )
        return execution, state

    def place(self, action: OfCheckpoint, checkpoint: str | None) -> Place:
        """Return the current checkpoint, which must allow the action, and be `checkpoint` if given.

        Raises:
            KraftgateError: as `current`, `runbook_of` and `require`.
        """
        execution, state = self.current(checkpoint)
        loaded = runbook_of(self, execution)
        hooks = None if self.entry.runbook is None else self.entry.runbook.hooks
        place = Place(
            execution=execution,
            state=state,
            loaded=loaded,
            view=cache(self.view),
            runs=HookRuns(self.config.state_dir),
            hooks=hooks,
            has_hook=lambda step: (
                hooks is not None
                and load_hooks(hooks, loaded.runbook).command(step.name) is not None
            ),
        )
        require(action, place)
        return place

    def view(self) -> View:
        assessor = Assessor(self.config, Reader(self.config, newest=1))
        return assessor.tick(self.now_ms).cluster(self.entry.name).assessment.view

    def record(self, body: Body, words: str) -> None:
        """Append the entry, and print what was done.

        Raises:
            ExecutionError: the execution has moved since it was read. An abort counts anywhere in
                it; a pause and its end, too, unless another process paused or resumed it first.
        """

        def unmoved(one: ExecutionState) -> tuple[object, ...]:
            if isinstance(body, Aborted):
                return one.sequence, one.outcome
            if isinstance(body, Paused | Resumed):
                return one.sequence, one.outcome, one.paused
            return one.position

        self.trail.append(body, self.now_ms, unmoved=unmoved)
        self.output(f"{self.entry.name}: {words}")


@contextmanager
def open_request(request: OperatorRequest, *, begins: bool = False) -> Iterator[RequestContext]:
    """Open the audit trail of the requested cluster; create it only if the request `begins` one.

    Raises:
        UnknownIdError: the cluster is ambiguous, or there is none of this name.
        ExecutionError: the reason is missing, there is no trail yet, the execution has moved on
            since a page showed it, or the page shows another state directory or cluster.
        AuditError: the audit trail cannot be opened.
    """
    config = load_config(request.config_path)
    if request.served is not None:
        _require_served(config, request.cluster, request.served)
    entry = config.one_cluster(request.cluster)
    if not request.reason.strip():
        raise ExecutionError("a reason is required for the audit trail: pass --reason '...'")
    if not begins and not has_trail(config.state_dir / AUDIT_FILE):
        raise ExecutionError(_none_begun(entry.name))
    with open_for_entry(config) as log:
        trail = ExecutionTrail(log, entry.name)
        execution = trail.state()
        if request.shown is not None and execution is not None:
            request.shown.require(execution)
        yield RequestContext(
            config=config,
            entry=entry,
            trail=trail,
            by=request.by or this_person(request.who),
            now_ms=wall_clock_ms(),
            output=request.output,
        )


def _require_served(config: Config, cluster: str | None, served: Config) -> None:
    """Raise ExecutionError if the file has another cluster, or state, than the page shows."""
    entry = served.one_cluster(cluster)
    if config.state_dir != served.state_dir or entry not in config.clusters:
        raise ExecutionError(
            f"{config.path} was changed since kraftgate run started, and has another `state_dir`,"
            f" other keys for {entry.name} or no {entry.name}: restart kraftgate run, then retry"
        )


def _none_begun(cluster: str) -> str:
    return f"no execution has begun for {cluster}: start kraftgate run"


def runbook_of(at: RequestContext, execution: ExecutionState | None) -> Loaded:
    """Return the cluster's runbook, which must be the one of the execution.

    Raises:
        ExecutionError: none is configured, or another one, or it was changed since the execution
            began.
        RunbookError: it cannot be used.
    """
    if at.entry.runbook is None:
        raise ExecutionError(f"no `runbook` is configured for {at.entry.name}")
    loaded = load(at.entry.runbook.file)
    if execution is not None and loaded.sha256 != execution.sha256:
        kept = kept_runbook(at.config.state_dir, execution.sha256)
        if loaded.runbook.name != execution.runbook:
            raise ExecutionError(
                f"{loaded.path} is the runbook {loaded.runbook.name}, and the execution is of"
                f" {execution.runbook}: {set_words(execution.runbook, kept)}, and start `kraftgate"
                " run` again"
            )
        restore = restore_words(loaded.path, execution.runbook, kept)
        raise ExecutionError(
            f"{loaded.path} was changed since this execution began: {restore}; or abort it"
            " (kraftgate abort) and begin a new one (kraftgate begin); gates that hold open again"
        )
    return loaded
