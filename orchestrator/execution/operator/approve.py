"""Records an approval of the step of the current checkpoint; approvals count by login."""

from dataclasses import dataclass

from migration.assessment.conditions import DataSource
from migration.assessment.conditions.authority import brokers_not_known, not_known
from orchestrator.audit.execution import entries
from orchestrator.audit.execution.entries import CONSOLE_LOGIN, Person
from orchestrator.audit.execution.state import CheckpointState, Stage
from orchestrator.errors import NoDataError, WalkError
from orchestrator.execution.approvals import basis
from orchestrator.execution.operator.request import Opened, Said, opened, runbook_of
from orchestrator.execution.route import begun_elsewhere, checkpoint_of
from orchestrator.run.assessor import Assessor
from orchestrator.run.reader import Reader
from orchestrator.runbook.model import Checkpoint


def approve(said: Said, checkpoint: str) -> None:
    """Approve the step of the current checkpoint, in the state that is current now.

    Raises:
        WalkError: another checkpoint is current, or it needs no approval.
        NoDataError: the state that would be approved is stale or unknown.
    """
    with opened(said) as at:
        confirmed = _confirmed(at, said, _approvable(at, checkpoint).checkpoint, checkpoint)
    with opened(said) as at:  # read again: an operator may have taken minutes to type the name
        asked = _approvable(at, checkpoint)
        body = entries.Approved(
            checkpoint=checkpoint,
            by=at.by,
            reason=said.reason,
            basis=_basis(at, asked.sha256),
            confirmed=confirmed,
        )
        at.tell(body, f"{checkpoint} approved by {at.by.words()}")
        others = [each for each in asked.place.approvals if not each.by.same_login(at.by)]
        if len(others) < len(asked.place.approvals):
            at.say(f"login {at.by.login} had approved it already: it counts once")
        if len(others) + 1 < asked.people:
            at.say(
                f"{asked.people} people must approve, {len(others) + 1} did: the next approval"
                f" comes from {_other_way(at.by)}"
            )


def _other_way(by: Person) -> str:
    """Return the ways to approve under another login."""
    if by.login == CONSOLE_LOGIN:
        return "`kraftgate approve`"
    return "another login, or the console (`kraftgate run --console`)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A checkpoint that needs an approval now."""

    checkpoint: Checkpoint
    place: CheckpointState
    people: int
    sha256: str


def _approvable(at: Opened, id_: str) -> _Asked:
    walk, place = at.current(id_)
    loaded = runbook_of(at.entry, walk)
    checkpoint = checkpoint_of(loaded.runbook, walk.path, id_)
    if checkpoint.approval is None:
        raise WalkError(f"{id_} needs no approval")
    if begun_elsewhere(walk, id_):
        raise WalkError(f"{id_} needs no approval any more: it was given, and a step was begun")
    if place.stage is not Stage.ENTERED:
        raise WalkError(f"{id_} needs no approval any more: it is {place.stage}")
    people = checkpoint.approval.people
    return _Asked(checkpoint=checkpoint, place=place, people=people, sha256=loaded.sha256)


def _confirmed(at: Opened, said: Said, checkpoint: Checkpoint, id_: str) -> str | None:
    """Return the cluster's name as the operator typed it; None: no confirmation is needed.

    Raises:
        WalkError: it is missing, or another name.
    """
    if not checkpoint.cannot_be_undone:
        return None
    name = at.entry.name
    typed = said.confirm(name)
    if typed is None:
        raise WalkError(
            f"{id_} cannot be undone: confirm its approval with the cluster's name:"
            f" --confirm {name}"
        )
    if typed != name:
        raise WalkError(f"{typed!r} does not confirm the approval of {id_}: the cluster is {name}")
    return typed


def _basis(at: Opened, sha256: str) -> dict[str, str]:
    assessor = Assessor(at.config, Reader(at.config, newest=1))
    view = assessor.tick(at.now_ms).cluster(at.entry.name).assessment.view
    unseen = brokers_not_known(view)
    if unseen is None and at.entry.brokers is not None:
        unseen = not_known(view, DataSource.LOG_DIRS)
    if unseen is not None:
        raise NoDataError(f"{at.entry.name}: cannot approve: the state is stale: {unseen.reason}")
    return basis(view.summary, view.hazards, sha256)
