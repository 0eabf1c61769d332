"""A checkpoint as a condition: satisfied once the audit trail shows that it is passed."""

import re
from dataclasses import dataclass, replace
from typing import Final

from migration.assessment.conditions import Condition, Finding, Verdict, external
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution.entries import HOW_ENDED
from orchestrator.audit.execution.state import ExecutionState
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config
from orchestrator.errors import ConfigError, NoDataError, UnknownIdError
from orchestrator.execution.route import checkpoints
from orchestrator.runbook.load import load
from orchestrator.runbook.loaded import Loaded, has_hash
from orchestrator.runbook.model import Checkpoint, ForwardCheckpoint

_ID: Final = re.compile(r"0|[1-9][0-9]{0,9}")
"""The id of an instance, as the audit trail has it."""


@dataclass(frozen=True, slots=True)
class AwaitedCheckpoint:
    """A checkpoint, or an instance of one, of a runbook; `passed` evaluates its condition."""

    id: str
    of: Checkpoint
    loaded: Loaded
    condition: Condition


def checkpoint_named(config: Config, cluster: str, checkpoint: str) -> AwaitedCheckpoint:
    """Return the checkpoint of the cluster's runbook that has this name, or this instance.

    Raises:
        ConfigError: no runbook is configured.
        UnknownIdError: the runbook has no such checkpoint.
        RunbookError: the runbook cannot be used.
    """
    runbook = next(each.runbook for each in config.clusters if each.name == cluster)
    if runbook is None:
        raise ConfigError([f"{config.path}: {cluster} has no `runbook` to pass a checkpoint of"])
    loaded = load(runbook.file)
    book = loaded.runbook
    known = {each.id: each for path in book.rollbacks for each in path.checkpoints}
    known |= {each.id: each for each in checkpoints(book, None)}
    name, instance = _parts(checkpoint)
    found = known.get(name)
    if found is None:
        raise UnknownIdError(
            f"the runbook {book.name} has no checkpoint {checkpoint}. Its checkpoints:"
            f" {', '.join(sorted(known))}"
        )
    if instance is not None and (found.for_each is None or not _ID.fullmatch(instance)):
        kind = found.for_each or "instance"
        raise UnknownIdError(f"the checkpoint {found.id} has no {kind} {instance}")
    condition = external(f"checkpoint({checkpoint})")
    if instance is not None and found.for_each == "broker":
        condition = replace(condition, broker=int(instance))
    elif instance is not None:
        condition = replace(condition, controller=int(instance))
    return AwaitedCheckpoint(checkpoint, found, loaded, condition)


def _parts(checkpoint: str) -> tuple[str, str | None]:
    """Return the name, and the id between the brackets; None: there are none."""
    name, bracket, rest = checkpoint.partition("[")
    if bracket and rest.endswith("]"):
        return name, rest[:-1]
    return checkpoint, None


def passed(config: Config, cluster: str, awaited: AwaitedCheckpoint) -> Finding:
    """Return whether a cluster's execution has passed a checkpoint.

    In a rollback no checkpoint of the forward path counts as passed, and none after an abort. An
    execution of another runbook, or of this one before it was changed, shows nothing about it.

    Raises:
        AuditError: the audit trail cannot be read.
    """
    verdict, reason = _verdict(_execution(config, cluster), awaited)
    return Finding(condition=awaited.condition.name, verdict=verdict, reason=reason)


def _execution(config: Config, cluster: str) -> ExecutionState | None:
    try:
        with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
            return ExecutionTrail(log, cluster).state()
    except NoDataError:
        return None


def _verdict(execution: ExecutionState | None, awaited: AwaitedCheckpoint) -> tuple[Verdict, str]:
    if execution is None:
        return Verdict.UNKNOWN, "no execution has begun: is `kraftgate run` running?"
    if not has_hash(awaited.loaded.path, execution.sha256):
        why = (
            f"the last execution, of {execution.runbook}, is not of the current text of the"
            " configured runbook: kraftgate begin begins a new one"
        )
        return Verdict.UNKNOWN, why
    if isinstance(awaited.of, ForwardCheckpoint) and execution.path is not None:
        ended = "" if execution.outcome is None else f", and {HOW_ENDED[execution.outcome]}"
        return Verdict.VIOLATED, f"the execution began the rollback {execution.path}{ended}"
    if execution.outcome == "aborted":
        ended = HOW_ENDED[execution.outcome]
        return Verdict.VIOLATED, f"the execution {ended}: kraftgate begin begins a new one"
    state = execution.checkpoint(awaited.id)
    if execution.passed(awaited.id):
        return Verdict.SATISFIED, f"it is {state.stage}"
    if execution.outcome is not None:
        return Verdict.VIOLATED, f"the execution {HOW_ENDED[execution.outcome]} before it"
    current = execution.current
    where = "between two checkpoints" if current is None else f"at {current.id} ({current.stage})"
    return Verdict.WAITING, f"the execution is {where}"
