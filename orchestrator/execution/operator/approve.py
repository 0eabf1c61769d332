"""Records an approval of the step of the current checkpoint; approvals count by login."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import brokers_not_known, not_known
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.concern import opaque
from orchestrator.audit.execution.entries import CONSOLE_LOGIN, Person
from orchestrator.audit.execution.state import CheckpointState, Stage
from orchestrator.errors import ExecutionError, NoDataError
from orchestrator.execution.approvals import basis, changed
from orchestrator.execution.operator.request import (
    OperatorRequest,
    RequestContext,
    Shown,
    open_request,
    runbook_of,
)
from orchestrator.execution.route import checkpoint_of, is_covered
from orchestrator.runbook.model import Checkpoint


def approve(request: OperatorRequest, checkpoint: str) -> None:
    """Approve the step of the current checkpoint, in the state that is current now.

    Raises:
        ExecutionError: another checkpoint is current, it needs no approval, or the state has
            changed since the operator saw it.
        NoDataError: the state that would be approved is stale or unknown.
    """
    with open_request(request) as at:
        before = _approvable(at, checkpoint)
        confirmed = _confirmed(at, request, before.checkpoint, checkpoint)
        if request.shown is not None:
            _require_shown(request.shown, before.basis)
    with open_request(
        request
    ) as at:  # read again: an operator may have taken minutes to type the name
        found = _approvable(at, checkpoint)
        _require_same(before.basis, found.basis)
        body = entries.Approved(
            checkpoint=checkpoint,
            by=at.by,
            reason=request.reason,
            basis=found.basis,
            confirmed=confirmed,
        )
        at.record(body, f"{checkpoint} approved by {at.by.words()}")
        others = [each for each in found.state.approvals if not each.by.same_login(at.by)]
        if len(others) < len(found.state.approvals):
            at.output(f"login {at.by.login} had approved it already: it counts once")
        if len(others) + 1 < found.people:
            at.output(
                f"{found.people} people must approve, {len(others) + 1} did. The next approval"
                f" must come from {_other_login(at.by)}"
            )


def _other_login(by: Person) -> str:
    """Return the ways to approve under another login."""
    if by.login == CONSOLE_LOGIN:
        return "`kraftgate approve`"
    return "another login, or the console (`kraftgate run --console`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Approvable:
    checkpoint: Checkpoint
    state: CheckpointState
    people: int
    basis: Mapping[str, str]


def _require_shown(shown: Shown, now: Mapping[str, str]) -> None:
    """Raise ExecutionError if the page showed another state than the current one."""
    if shown.basis_id in (None, opaque(now)):
        return
    if shown.basis is not None:
        _require_same(shown.basis, now)
    raise ExecutionError(f"{_CHANGED}: {_AGAIN}")


def _require_same(seen: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise ExecutionError with the changes if the state has changed."""
    if lines := changed(seen, now):
        raise ExecutionError(f"{_CHANGED}: {'; '.join(lines)}: {_AGAIN}")


_CHANGED: Final = "nothing was approved, because the state has changed since you saw it"
_AGAIN: Final = "check it, then repeat the approval (kraftgate approve)"


def _approvable(at: RequestContext, id_: str) -> _Approvable:
    execution, state = at.current(id_)
    loaded = runbook_of(at, execution)
    checkpoint = checkpoint_of(loaded.runbook, execution.path, id_)
    if checkpoint.approval is None:
        raise ExecutionError(f"{id_} needs no approval")
    view = at.view()
    if is_covered(execution, checkpoint, id_, view.summary):
        raise ExecutionError(
            f"{id_} needs no approval any more: it was given, and a step was begun"
        )
    if state.stage is not Stage.ENTERED:
        raise ExecutionError(f"{id_} needs no approval any more: it is {state.stage}")
    return _Approvable(
        checkpoint=checkpoint,
        state=state,
        people=checkpoint.approval.people,
        basis=_basis(at, view, checkpoint, loaded.sha256),
    )


def _confirmed(
    at: RequestContext, request: OperatorRequest, checkpoint: Checkpoint, id_: str
) -> str | None:
    """Return the cluster's name as the operator typed it; None: no confirmation is needed.

    Raises:
        ExecutionError: it is missing, or another name.
    """
    if not checkpoint.cannot_be_undone:
        return None
    name = at.entry.name
    typed = request.confirm(name)
    if typed is None:
        raise ExecutionError(
            f"{id_} cannot be undone: confirm its approval with the cluster's name:"
            f" --confirm {name}"
        )
    if typed != name:
        raise ExecutionError(
            f"{typed!r} does not confirm the approval of {id_}: the cluster is {name}"
        )
    return typed


def _basis(at: RequestContext, view: View, checkpoint: Checkpoint, sha256: str) -> dict[str, str]:
    """Return what the approval rests on.

    Where a rollback stops the controllers, or relies on it, the metadata log may have ended.

    Raises:
        NoDataError: it is stale.
    """
    parts = (*checkpoint.already, *checkpoint.needs, *checkpoint.opens_when)
    stops = any(each.startswith("controllers_stopped") for each in parts)
    unseen = not_known(view, DataSource.ZOOKEEPER) if stops else brokers_not_known(view)
    if unseen is None and at.entry.brokers is not None:
        unseen = not_known(view, DataSource.LOG_DIRS)
    if unseen is not None:
        raise NoDataError(f"{at.entry.name}: cannot approve: the state is stale: {unseen.reason}")
    return basis(view.summary, view.hazards, sha256)
