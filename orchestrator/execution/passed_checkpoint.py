"""A checkpoint as a condition: satisfied once the audit trail shows that it is passed."""

from dataclasses import replace

from migration.assessment.conditions import Condition, Finding, Verdict, external
from orchestrator.audit import AUDIT_FILE, AuditLog
from orchestrator.audit.execution.entries import HOW_ENDED
from orchestrator.audit.execution.state import ExecutionState
from orchestrator.audit.execution.trail import ExecutionTrail
from orchestrator.config.load import Config
from orchestrator.errors import KraftgateError, NoDataError, UnknownIdError
from orchestrator.execution.route import checkpoints
from orchestrator.runbook.load import load
from orchestrator.runbook.model import Checkpoint, ForwardCheckpoint


def checkpoint_condition(checkpoint: str, of: Checkpoint | None = None) -> Condition:
    """Return a condition that `passed` evaluates; `of` gives the kind of id of its instance."""
    condition = external(f"checkpoint({checkpoint})")
    instance = _instance(checkpoint)
    if of is None or instance is None or of.for_each is None:
        return condition
    return (
        replace(condition, broker=int(instance))
        if of.for_each == "broker"
        else replace(condition, controller=int(instance))
    )


def checkpoint_named(config: Config, cluster: str, checkpoint: str) -> Checkpoint:
    """Return the checkpoint of the cluster's runbook that has this name, or this instance.

    Raises:
        KraftgateError: no runbook is configured.
        UnknownIdError: the runbook has no such checkpoint.
        RunbookError: the runbook cannot be used.
    """
    runbook = next(each.runbook for each in config.clusters if each.name == cluster)
    if runbook is None:
        raise KraftgateError(f"{config.path}: {cluster} has no `runbook` to pass a checkpoint of")
    book = load(runbook.file).runbook
    known = {each.id: each for path in book.rollbacks for each in path.checkpoints}
    known |= {each.id: each for each in checkpoints(book, None)}
    found, instance = known.get(checkpoint.partition("[")[0]), _instance(checkpoint)
    if found is None:
        raise UnknownIdError(
            f"the runbook {book.name} has no checkpoint {checkpoint}. Its checkpoints:"
            f" {', '.join(sorted(known))}"
        )
    if instance is not None and (found.for_each is None or not instance.isdecimal()):
        kind = found.for_each or "instance"
        raise UnknownIdError(f"the checkpoint {found.id} has no {kind} {instance}")
    return found


def _instance(checkpoint: str) -> str | None:
    """Return the id between the brackets; None: there are none."""
    _, bracket, rest = checkpoint.partition("[")
    return rest.removesuffix("]") if bracket else None


def passed(config: Config, cluster: str, checkpoint: str, of: Checkpoint) -> Finding:
    """Return whether a cluster's execution has passed a checkpoint, found as `of`.

    In a rollback no checkpoint of the forward path counts as passed.

    Raises:
        AuditError: the audit trail cannot be read.
    """
    forward = isinstance(of, ForwardCheckpoint)
    verdict, reason = _verdict(_execution(config, cluster), checkpoint, forward=forward)
    name = checkpoint_condition(checkpoint).name
    return Finding(condition=name, verdict=verdict, reason=reason)


def _execution(config: Config, cluster: str) -> ExecutionState | None:
    try:
        with AuditLog.open_readonly(config.state_dir / AUDIT_FILE) as log:
            return ExecutionTrail(log, cluster).state()
    except NoDataError:
        return None


def _verdict(
    execution: ExecutionState | None, checkpoint: str, *, forward: bool
) -> tuple[Verdict, str]:
    if execution is None:
        return Verdict.UNKNOWN, "no execution has begun: does `kraftgate run` run?"
    if forward and execution.path is not None:
        ended = "" if execution.outcome is None else f", and {HOW_ENDED[execution.outcome]}"
        return Verdict.VIOLATED, f"the execution began the rollback {execution.path}{ended}"
    state = execution.checkpoint(checkpoint)
    if execution.passed(checkpoint):
        return Verdict.SATISFIED, f"it is {state.stage}"
    if execution.outcome is not None:
        return Verdict.VIOLATED, f"the execution {HOW_ENDED[execution.outcome]} before it"
    current = execution.current
    where = "between two checkpoints" if current is None else f"at {current.id} ({current.stage})"
    return Verdict.WAITING, f"the execution is {where}"
