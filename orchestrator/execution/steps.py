"""Performs steps: shows them to an operator, or starts a hook and records its outcome."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from migration.assessment.conditions import STEP_NEEDS_DECISION, DataSource, View
from migration.image.known_ids import member_brokers
from migration.image.summary import WITHOUT_ZOOKEEPER
from migration.values.timestamps import utc_text
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import Body, JsonFacts
from orchestrator.audit.execution.running_step import Home
from orchestrator.audit.execution.state import CheckpointState, ExecutionState
from orchestrator.config.models import ClusterEntry
from orchestrator.errors import HookError, RunbookError, SecretUnknown
from orchestrator.execution.allowed import Place
from orchestrator.execution.commands import Commands
from orchestrator.execution.locks.cluster_lock import ClusterLock
from orchestrator.execution.locks.store_lock import NotHeld
from orchestrator.execution.route import CheckpointInstance, described
from orchestrator.execution.step_fence import StepFence
from orchestrator.hooks.commands import step_environment
from orchestrator.hooks.files import End
from orchestrator.hooks.runs import Ended, Hook, HookRuns, NotStarted, Running, Unknown
from orchestrator.output.visible import visible_line
from orchestrator.run.execution_status import Turn
from orchestrator.run.identity import accepted_ids
from orchestrator.runbook.cluster_facts import addresses_of, planned_controllers
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Step
from orchestrator.runbook.step_values import Answers, step_fields
from orchestrator.runbook.templates import CONTROLLER_LINES, LOG_DIRS, fields_in, readable, render

OUTPUT_RECORDED_MAX: Final = 16_384
"""Only this many bytes at the end of a hook's output are in the trail; the run's file has all of
it."""
_OUTPUT_JSON_MAX: Final = 50_000
"""In JSON a byte of the output may take six, and an entry of the trail has a maximum."""
_OVERDUE_MS: Final = 60_000
"""A supervisor may take that long, in addition, to begin its command and to kill what it left."""

Record = Callable[[Body], None]
MakeHook = Callable[[str, Mapping[str, str], Mapping[str, str]], Hook | None]
"""Returns the command of a step, given its name, its fields and its environment; None: an operator
does the step by hand."""


class Hold(NamedTuple):
    """Why the execution does not continue.

    Attributes:
        text: the wait, as a phrase.
        turn: what an operator must do; None: nothing, it ends by itself.
    """

    text: str
    turn: Turn | None = None


class Steps:
    """Performs the steps of one cluster's execution.

    Args:
        make_hook: None: an operator does every step by hand.
        lock: no hook is started while it is not held.
        home: the state directory of this orchestrator.
        commands: for the cluster.
        record: appends to the audit trail.
    """

    def __init__(
        self,
        *,
        entry: ClusterEntry,
        make_hook: MakeHook | None,
        runs: HookRuns,
        lock: ClusterLock,
        home: Home,
        environment: dict[str, str],
        commands: Commands,
        record: Record,
    ) -> None:
        self._entry = entry
        self._make_hook = make_hook
        self._runs = runs
        self._step_fence = StepFence(lock, runs, home, record, commands)
        self._host = home.host
        self._environment = environment
        self._commands = commands
        self._record = record

    def take(
        self,
        execution: ExecutionState,
        instance: CheckpointInstance,
        step: Step,
        view: View,
        facts: JsonFacts,
        is_open: Callable[[], bool],
    ) -> Hold | None:
        """Begin the step; the entry in the trail comes first.

        Returns:
            why the step cannot begin now; None: it has begun.
        """
        state = execution.checkpoint(instance.id)
        fields = _fields_of(self._entry, instance, view)
        run = f"{execution.sequence}-{instance.id}-{state.attempts + 1}"
        try:
            hook = self._hook(step, fields, self._hook_environment(instance, run))
            argv = None if hook is None else _redacted(hook)
        except (RunbookError, SecretUnknown) as error:
            return self._correct(step, error)
        if hook is None or argv is None:
            text = render(step.manual, readable_fields(self._entry, instance, view))
            self._record(
                entries.StepShown(
                    checkpoint=instance.id, text=text, open_before=is_open(), facts=facts
                )
            )
            return None
        open_before, attempt = is_open(), state.attempts + 1
        has_zookeeper = _has_zookeeper(view)
        try:
            held = self._step_fence.begin(instance.id, run, hook, has_zookeeper=has_zookeeper)
        except HookError as error:
            turn = Turn(
                text="Repair the state directory: no hook can begin",
                why=str(error),
                commands=("kraftgate help state-and-backup",),
            )
            return Hold(f"the hook of {instance.id}: {error}", turn)
        if isinstance(held, NotHeld):
            if execution.lock_lost != held.why:
                self._record(entries.LockLost(reason=held.why))
            return Hold(f"the lock of the orchestrator: {held.why}")
        if execution.lock_lost is not None:
            self._record(entries.LockAcquired(token=held.token))
        self._record(
            entries.StepStarted(
                checkpoint=instance.id,
                run=run,
                attempt=attempt,
                argv=argv,
                token=held.token,
                open_before=open_before,
                facts=facts,
            )
        )
        self._start(instance, run, replace(hook, begin_before_s=held.until_s))
        return None

    def action(self, instance: CheckpointInstance, view: View) -> str:
        """Return the step of an instance as one instruction."""
        step = instance.checkpoint.step
        if step is None:
            return ""
        if step.do is None:
            return f"Perform step {step.name} of {instance.id}"
        return render(step.do, readable_fields(self._entry, instance, view))

    def place(
        self, execution: ExecutionState, loaded: Loaded, instance: CheckpointInstance, view: View
    ) -> Place | None:
        """Return what decides about an operator's actions; None: no checkpoint is current."""
        if execution.current is None:
            return None
        return Place(
            execution=execution,
            state=execution.current,
            loaded=loaded,
            view=lambda: view,
            runs=self._runs,
            hooks=None if self._entry.runbook is None else self._entry.runbook.hooks,
            has_hook=lambda step: self._has_hook(step, _fields_of(self._entry, instance, view)),
        )

    def _has_hook(self, step: Step, fields: Mapping[str, str]) -> bool:
        """Return whether the step has a hook here, even one whose command cannot be made now."""
        try:
            return self._hook(step, fields, {}) is not None
        except RunbookError:
            return True

    def settle(self, execution: ExecutionState, view: View) -> None:
        """Remove the record of a step that has ended; call it at every tick."""
        self._step_fence.settle(execution, has_zookeeper=_has_zookeeper(view))

    def waits(self, execution: ExecutionState, view: View) -> str | None:
        """Return the text of a wait while another step is recorded as running."""
        return self._step_fence.waits(execution, has_zookeeper=_has_zookeeper(view))

    def poll(self, checkpoint: str, run: str, now_ms: int) -> Hold | None:
        """Record the outcome of a run; return a hold while it runs."""
        match self._runs.state(run):
            case Running(ends_ms=ends_ms):
                waits = f"the hook of {checkpoint} to end"
                if ends_ms is None or now_ms < ends_ms + _OVERDUE_MS:
                    return Hold(waits)
                return Hold(f"{waits}, which {_late(ends_ms)}", self._overdue(checkpoint, ends_ms))
            case Ended() as found:
                self._record(_ended(checkpoint, run, found))
            case NotStarted():
                self._record(entries.StepNotStarted(checkpoint=checkpoint, run=run))
            case Unknown() as found:
                why = _why_unknown(found)
                self._record(entries.StepUnknown(checkpoint=checkpoint, run=run, why=why))
        return None

    def poll_leftover(self, checkpoint: CheckpointState, now_ms: int) -> Hold | None:
        """Do the same for a hook of an aborted execution, and wait for processes that it left."""
        run = str(checkpoint.run)
        found = self._runs.state(run)
        if isinstance(found, Unknown) and found.still_running:
            processes = ", ".join(map(str, found.still_running))
            return Hold(f"the processes {processes} of the hook of {checkpoint.id} to end")
        return self.poll(checkpoint.id, run, now_ms)

    def _correct(self, step: Step, error: RunbookError | SecretUnknown) -> Hold:
        """Return what an operator must do about a hook whose command cannot be made."""
        turn = Turn(
            text=f"Correct the command of step {step.name} or the configuration, and start"
            " `kraftgate run` again",
            why=str(error),
            commands=(self._commands.without_reason("hooks", "check"),),
        )
        return Hold(f"the command of step {step.name}: {error}", turn)

    def _overdue(self, checkpoint: str, ends_ms: int) -> Turn:
        """Return the turn of an operator to end a hook that is overdue."""
        return Turn(
            text=f"Find out on {self._host} why the hook of {checkpoint} has not ended",
            why=f"the hook {_late(ends_ms)}; it may run as another user, or hang",
            commands=(f"kraftgate help {STEP_NEEDS_DECISION}",),
        )

    def _hook_environment(self, instance: CheckpointInstance, run: str) -> dict[str, str]:
        return {**self._environment, **step_environment(instance.id, instance.bind, run)}

    def _hook(
        self, step: Step, fields: Mapping[str, str], environment: Mapping[str, str]
    ) -> Hook | None:
        return None if self._make_hook is None else self._make_hook(step.name, fields, environment)

    def _start(self, instance: CheckpointInstance, run: str, hook: Hook) -> None:
        try:
            self._runs.start(run, hook)
        except HookError as error:
            # An operator must check the outcome: the step is neither repeated nor taken as done.
            why = f"it could not be handed to its supervisor: {error}"
            self._record(entries.StepUnknown(checkpoint=instance.id, run=run, why=why))


def _late(ends_ms: int) -> str:
    return f"should have ended by {utc_text(ends_ms)}"


def _has_zookeeper(view: View) -> bool:
    return view.summary.phase not in WITHOUT_ZOOKEEPER


def _redacted(hook: Hook) -> tuple[str, ...]:
    """Return the command with its secrets redacted, for the trail."""
    return tuple(hook.secrets.redactor({**os.environ, **hook.environment}).argv(hook.argv))


def _ended(id_: str, run: str, found: Ended) -> entries.StepEnded:
    outcome = found.outcome
    output = found.output.read_bytes() if found.output.exists() else b""
    return entries.StepEnded(
        checkpoint=id_,
        run=run,
        succeeded=outcome.succeeded,
        how=outcome.words(),
        started=outcome.end is not End.REFUSED,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        took_ms=outcome.ended_ms - outcome.started_ms,
        output=_recorded(output),
        output_bytes=outcome.output_bytes,
        output_sha256=hashlib.sha256(output).hexdigest(),
        still_running=outcome.still_running,
    )


def _recorded(output: bytes) -> str:
    text = output[-OUTPUT_RECORDED_MAX:].decode("utf-8", "replace")
    while len(json.dumps(text, ensure_ascii=False).encode()) > _OUTPUT_JSON_MAX:
        text = text[len(text) // 2 :]
    return text


def _why_unknown(found: Unknown) -> str:
    running = ""
    if found.still_running:
        processes = ", ".join(map(str, found.still_running))
        running = f"; its processes {processes} still ran when this was found"
    return f"the outcome of the hook is unknown: {found.why}{running}"


def _fields_of(entry: ClusterEntry, instance: CheckpointInstance, view: View) -> dict[str, str]:
    summary = view.summary
    about = (described(summary, kind).get(int(id_)) for kind, id_ in instance.bind.items())
    return step_fields(
        cluster=entry.name,
        phase=str(summary.phase),
        addresses=addresses_of(entry),
        answers=_answers(entry, view),
        bind=instance.bind,
        member=next(about, None),
    )


def sources_of_text(step: Step | None) -> frozenset[DataSource]:
    """Return the sources of a step's text that the conditions around it may not need."""
    has_log_dirs = step is not None and LOG_DIRS in fields_in(step.manual)
    return frozenset({DataSource.SETTINGS} if has_log_dirs else ())


def readable_fields(
    entry: ClusterEntry, instance: CheckpointInstance, view: View
) -> dict[str, str]:
    """Return the values for a text that an operator reads, each safe on a terminal."""
    fields = {
        name: each if name == CONTROLLER_LINES else visible_line(each)
        for name, each in _fields_of(entry, instance, view).items()
    }
    return readable(fields, instance.checkpoint.for_each)


def _answers(entry: ClusterEntry, view: View) -> Answers:
    quorum = view.quorum
    exist = bool(view.summary.controllers) if quorum is None else quorum.answering > 0
    return Answers(
        cluster_id=entry.id or next(iter(accepted_ids(view.sources).values()), None),
        controllers=() if quorum is None else (quorum.settings,),
        brokers=() if view.settings is None else tuple(view.settings.listeners.values()),
        planned=() if exist else planned_controllers(entry),
        taken=member_brokers(view.summary),
        log_dirs={} if view.settings is None else view.settings.log_dirs,
    )
