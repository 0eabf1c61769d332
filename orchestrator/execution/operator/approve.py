"""Records an approval of the step of the current checkpoint; approvals count by login."""

from collections.abc import Mapping
from typing import Final

from migration.assessment.conditions import DataSource, View
from migration.assessment.conditions.authority import brokers_not_known, not_known
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.concern import opaque
from orchestrator.audit.execution.entries import CONSOLE_LOGIN, Person
from orchestrator.errors import ExecutionError, NoDataError
from orchestrator.execution.allowed import Place
from orchestrator.execution.approvals import basis, changed
from orchestrator.execution.operator.request import (
    OperatorRequest,
    RequestContext,
    Shown,
    open_request,
)
from orchestrator.runbook.model import Checkpoint


def approve(request: OperatorRequest, checkpoint: str) -> None:
    """Approve the step of the current checkpoint, in the state that is current now.

    Raises:
        ExecutionError: another checkpoint is current, it needs no approval, or the state has
            changed since the operator saw it.
        NoDataError: the state that would be approved is stale or unknown.
    """
    with open_request(request) as at:
        place, seen = _approvable(at, checkpoint)
        confirmed = _confirmed(at, request, place.checkpoint, checkpoint)
        if request.shown is not None:
            _require_shown(request.shown, seen)
    with open_request(
        request
    ) as at:  # read again: an operator may have taken minutes to type the name
        place, now = _approvable(at, checkpoint)
        _require_same(seen, now)
        body = entries.Approved(
            checkpoint=checkpoint,
            by=at.by,
            reason=request.reason,
            basis=now,
            confirmed=confirmed,
        )
        at.record(body, f"{checkpoint} approved by {at.by.words()}")
        given, wanted = place.state.approvals, place.checkpoint.approval
        others = [each for each in given if not each.by.same_login(at.by)]
        if len(others) < len(given):
            at.output(f"login {at.by.login} had approved it already: it counts once")
        if wanted is not None and len(others) + 1 < wanted.people:
            at.output(
                f"{wanted.people} people must approve, {len(others) + 1} did. The next approval"
                f" must come from {_other_login(at.by)}"
            )


def _other_login(by: Person) -> str:
    """Return the ways to approve under another login."""
    if by.login == CONSOLE_LOGIN:
        return "`kraftgate approve`"
    return "another login, or the console (`kraftgate run --console`)"


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


def _approvable(at: RequestContext, id_: str) -> tuple[Place, Mapping[str, str]]:
    """Return the checkpoint, which must need an approval, and what the approval rests on."""
    place = at.place("approve", id_)
    return place, _basis(at, place.view(), place.checkpoint, place.loaded.sha256)


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
