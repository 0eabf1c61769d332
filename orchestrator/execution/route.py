"""Decides which checkpoint comes next, and for which broker or controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from migration.assessment.conditions import (
    Call,
    Condition,
    DataSource,
    Finding,
    Verdict,
    View,
    call_of,
    judge_all,
    parse,
    verdict_of,
)
from migration.assessment.conditions.authority import brokers_not_known, not_known
from migration.assessment.hazards import Action, HazardKind
from migration.image.known_ids import member_brokers
from migration.image.summary import ClusterSummary
from orchestrator.audit.execution.state import CheckpointState, ExecutionState, Stage
from orchestrator.execution.approvals import basis
from orchestrator.runbook.instance_order import Leaders, Member, in_order, rules_of
from orchestrator.runbook.model import Approval, Checkpoint, Runbook
from orchestrator.runbook.places import forward, in_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInstance:
    """One checkpoint that the execution is at.

    Attributes:
        id: its name in the audit trail, such as `brokers-kraft[3]`.
        bind: the values of `broker` or `controller` in its conditions.
        begun: whether the step of another instance of the checkpoint was begun, so that its
            approval has been used.
    """

    id: str
    checkpoint: Checkpoint
    bind: Mapping[str, str]
    begun: bool = False

    @property
    def broker(self) -> int | None:
        return int(self.bind["broker"]) if "broker" in self.bind else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllPassed:
    """A checkpoint with `for_each` whose instances are all passed; `id` has no brackets."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownInstance:
    """The next instance of a checkpoint is unknown.

    Attributes:
        polls: the sources that must be polled to know it.
    """

    id: str
    why: str
    polls: tuple[DataSource, ...] = ()


def checkpoints(runbook: Runbook, path: str | None) -> Sequence[Checkpoint]:
    """Return the forward path, or the rollback path with this id, in execution order."""
    if path is not None:
        return runbook.rollback_path(path)
    return [each.checkpoint for each in in_turn(forward(runbook))]


def checkpoint_of(runbook: Runbook, path: str | None, id_: str) -> Checkpoint:
    name = id_.partition("[")[0]
    return next(each for each in checkpoints(runbook, path) if each.id == name)


def finalize_is_near(runbook: Runbook, path: str | None, id_: str | None) -> bool | None:
    """Return whether the checkpoint that finalizes is current or next, or its guards are evaluated.

    The condition `no_hazard(finalize)` marks that checkpoint. None: no checkpoint of the runbook
    has it.
    """
    ahead = checkpoints(runbook, None)
    if not any(_guards_finalize(each.needs, each.opens_when) for each in ahead):
        return None
    if path is not None or id_ is None:
        return False
    names = [each.id for each in ahead]
    at = names.index(id_.partition("[")[0])
    here, following = ahead[at], ahead[at + 1 : at + 2]
    return _guards_finalize(here.needs, here.opens_when) or any(
        _guards_finalize(each.needs) for each in following
    )


def finalize_is_in_progress(runbook: Runbook, path: str | None, id_: str | None) -> bool | None:
    """Return whether the checkpoint that finalizes is current or passed.

    Its guards have the condition `no_hazard(finalize)`. None: there is none, or none is current.
    """
    ahead = checkpoints(runbook, None)
    first = next((at for at, each in enumerate(ahead) if _guards_finalize(each.needs)), None)
    if first is None or id_ is None:
        return None
    name = id_.partition("[")[0]
    return path is None and name in [each.id for each in ahead[first:]]


def stops_controllers(checkpoint: Checkpoint) -> bool:
    """Return whether a step stops the controllers: its gate waits for that, its guards do not."""
    needs, gate = map(call_of, checkpoint.needs), map(call_of, checkpoint.opens_when)
    return _STOPPED in gate and _STOPPED not in needs


def controllers_stop(runbook: Runbook, execution: ExecutionState) -> bool:
    """Return whether the step that stops the controllers was begun, or is passed."""
    states = (
        execution.checkpoint(each.id)
        for each in checkpoints(runbook, execution.path)
        if stops_controllers(each)
    )
    return any(was_begun(each) or each.is_behind for each in states)


def _guards_finalize(*parts: Sequence[str]) -> bool:
    calls = (call_of(text) for part in parts for text in part)
    return any(
        each is not None and each.name == "no_hazard" and each.arguments[:1] in _OF_FINALIZE
        for each in calls
    )


_STOPPED: Final = Call("controllers_stopped")
_OF_FINALIZE: Final = ((str(Action.FINALIZE),), (str(HazardKind.FINALIZE_TOO_EARLY),))


def next_checkpoint(
    execution: ExecutionState, runbook: Runbook, view: View
) -> CheckpointInstance | AllPassed | UnknownInstance | None:
    """Return the next checkpoint of the execution; None: all are passed."""
    for checkpoint in checkpoints(runbook, execution.path):
        if execution.passed(checkpoint.id):
            continue
        if checkpoint.for_each is None:
            return CheckpointInstance(id=checkpoint.id, checkpoint=checkpoint, bind={})
        return _of_each(execution, checkpoint, view)
    return None


def place_of(execution: ExecutionState, runbook: Runbook, view: View, id_: str | None) -> str:
    """Return where an instance is: "checkpoint 6 of 9, broker 2 of 3"; "": between two."""
    if id_ is None:
        return ""
    name = id_.partition("[")[0]
    ahead = checkpoints(runbook, execution.path)
    at = next(number for number, each in enumerate(ahead) if each.id == name)
    way = "checkpoint" if execution.path is None else f"rollback {execution.path}, checkpoint"
    place = f"{way} {at + 1} of {len(ahead)}"
    kind = ahead[at].for_each
    if kind is None or name == id_:
        return place
    members = _members(view, kind)
    if not members:
        return place
    behind = sum(
        each.is_behind for each in execution.checkpoints.values() if each.id.startswith(f"{name}[")
    )
    return f"{place}, {kind} {behind + 1} of {max(len(members), behind + 1)}"


def step_begun(execution: ExecutionState, checkpoint: str) -> bool:
    """Return whether the step of a checkpoint or of an instance was begun, or was not needed."""
    return any(
        was_begun(each) or each.stage is Stage.PASSED
        for each in execution.checkpoints.values()
        if each.id == checkpoint or each.id.startswith(f"{checkpoint}[")
    )


def done_without_step(checkpoint: Checkpoint, runbook: Runbook, view: View) -> str | None:
    """Return why an instance of a checkpoint needs no step any more; None: none is known to."""
    kind = checkpoint.for_each
    binds: list[dict[str, str]] = [{}]
    if kind is not None:
        binds = [{kind: str(id_)} for id_ in _ever_registered(view, kind)]
    for bind in binds:
        found = judge_all(_already(checkpoint, bind, runbook), view)
        if verdict_of(found) is Verdict.SATISFIED:
            return found[0].reason
    return None


def behind_cluster(
    execution: ExecutionState, instance: CheckpointInstance, runbook: Runbook, view: View
) -> str | None:
    """Return why the cluster has passed the step of an instance; None: it is not known to have.

    The state directory may be restored from a backup. A later step that gives the same conditions
    other arguments, as another mode of the broker, has then replaced the effect of this one.
    """
    here = instance.checkpoint
    wanted = _already(here, instance.bind, runbook)
    if verdict_of(judge_all(wanted, view)) is not Verdict.WAITING:
        return None
    ahead = checkpoints(runbook, execution.path)
    at = next(number for number, each in enumerate(ahead) if each.id == here.id)
    for later in ahead[at + 1 :]:
        if later.for_each != here.for_each:
            continue
        reached = _already(later, instance.bind, runbook)
        found = judge_all(reached, view)
        same = {each.name for each in reached} == {each.name for each in wanted}
        if same and verdict_of(found) is Verdict.SATISFIED:
            return found[0].reason
    return None


def _already(checkpoint: Checkpoint, bind: Mapping[str, str], runbook: Runbook) -> list[Condition]:
    own = {each.name for each in runbook.conditions}
    return [parse(text, bind=bind, own=own) for text in checkpoint.already]


def _ever_registered(view: View, kind: str) -> list[int]:
    """Return the ids of all members, and of controllers that may have left the quorum.

    A command of an operator does not poll the quorum.
    """
    members = {each.id for each in _members(view, kind)}
    if kind == "controller":
        members |= {each.id for each in view.summary.controllers or ()}
    return sorted(members)


def is_covered(
    execution: ExecutionState, checkpoint: Checkpoint, id_: str, summary: ClusterSummary | None
) -> bool:
    """Return whether the approval with which another instance began also covers this one.

    An approval of a destructive step does not cover a broker whose state has changed since. Without
    a `summary`, the recorded expiry shows that.
    """
    name, _, which = id_.rstrip("]").partition("[")
    instances = [e for e in execution.checkpoints.values() if e.id.startswith(f"{name}[")]
    if not any(was_begun(each) for each in instances if each.id != id_):
        return False
    approval = checkpoint.approval
    if approval is None or not (checkpoint.destructive and checkpoint.for_each == "broker"):
        return True
    given = [
        each
        for state in execution.checkpoints.values()
        if state.id == approval.given_at or state.id.startswith(f"{name}[")
        for each in state.approvals
    ]
    if not given or summary is None:
        return bool(given)
    now = basis(summary, (), "")
    keys = (f"broker {which}", f"bad log directories of broker {which}")
    return all(each.basis.get(key) == now.get(key) for each in given for key in keys)


def approved_at(
    execution: ExecutionState, state: CheckpointState, approval: Approval
) -> tuple[CheckpointState, ...]:
    """Return the places whose approvals count for a step: that of `given_at`, and its own."""
    if approval.given_at is None:
        return (state,)
    return execution.checkpoint(approval.given_at), state


def approvals_needed(execution: ExecutionState, instance: CheckpointInstance) -> int:
    """Return how many people must approve the step of an instance; 0: none, or it is covered."""
    wanted = instance.checkpoint.approval
    return 0 if wanted is None or without_approval(execution, instance) else wanted.people


def without_approval(execution: ExecutionState, instance: CheckpointInstance) -> str | None:
    """Return why the step of an instance needs no approval, as a phrase; None: it needs one."""
    wanted, state = instance.checkpoint.approval, execution.checkpoint(instance.id)
    if wanted is None:
        return "no approval"
    if instance.begun:
        return "no approval any more: it was given, and a step was begun"
    if state.stage is not Stage.ENTERED:
        return f"no approval any more: it is {state.stage}"
    earlier = approved_at(execution, state, wanted)[:-1]
    if any(len(each.approvals) >= wanted.people for each in earlier):
        return f"no approval: the one of {wanted.given_at} covers it"
    return None


def was_begun(state: CheckpointState) -> bool:
    """Return whether the step of a place was begun, by a hook or by hand."""
    started = state.attempts > state.not_started
    return started or state.shown is not None or state.stage is Stage.STEP_DONE


def _of_each(
    execution: ExecutionState, checkpoint: Checkpoint, view: View
) -> CheckpointInstance | AllPassed | UnknownInstance:
    kind, current = str(checkpoint.for_each), execution.current

    def instance(which: str) -> CheckpointInstance:
        id_ = f"{checkpoint.id}[{which}]"
        begun = is_covered(execution, checkpoint, id_, view.summary)
        return CheckpointInstance(id=id_, checkpoint=checkpoint, bind={kind: which}, begun=begun)

    if current is not None and current.id.startswith(f"{checkpoint.id}["):
        return instance(current.id[len(checkpoint.id) + 1 : -1])
    polls = () if kind == "broker" else (DataSource.QUORUM,)
    unseen = members_not_known(kind, view, *polls)
    if unseen is not None:
        why = f"which {kind}s there are is not known: {unseen.reason}"
        return UnknownInstance(id=checkpoint.id, why=why, polls=polls)
    members = _members(view, kind)
    if not members:
        return UnknownInstance(id=checkpoint.id, why=f"no {kind} is known", polls=polls)
    done = [
        each.id for each in members if execution.checkpoint(f"{checkpoint.id}[{each.id}]").is_behind
    ]
    for each in in_order(members, rules_of(checkpoint), _leaders(view), done):
        if each.id not in done:
            return instance(str(each.id))
    return AllPassed(id=checkpoint.id)


def members_not_known(kind: str | None, view: View, *more: DataSource) -> Finding | None:
    """Return why it is unknown which brokers or controllers there are; None: it is known.

    `more`: further sources that must be known, too.
    """
    if kind == "broker":
        return brokers_not_known(view)
    return not_known(view, DataSource.METADATA_LOG, *more)


def described(summary: ClusterSummary, kind: str) -> dict[int, Member]:
    """Return the brokers or controllers with a known description, by id; others may exist."""
    if kind == "broker":
        return {
            each.id: Member(id=each.id, host=each.host or "", rack=each.rack or "")
            for each in summary.brokers
        }
    known = summary.controllers or ()
    return {each.id: Member(id=each.id, host=each.host or "") for each in known}


def _members(view: View, kind: str) -> list[Member]:
    return _brokers(view) if kind == "broker" else _controllers(view)


def _brokers(view: View) -> list[Member]:
    """Return every broker that any source knows.

    A broker that is down and not done keeps the execution at this checkpoint.
    """
    found = described(view.summary, "broker")
    for id_ in member_brokers(view.summary):
        found.setdefault(id_, Member(id=id_))
    return list(found.values())


def _controllers(view: View) -> list[Member]:
    """Return the voters of the quorum; none if no leader reported them.

    Kafka keeps the registration of a controller that left the quorum.
    """
    found = described(view.summary, "controller")
    voters = () if view.quorum is None else view.quorum.voters
    return [found.get(each.id, Member(id=each.id)) for each in voters]


def _leaders(view: View) -> Leaders:
    zookeeper = view.summary.zookeeper
    polled = None if view.quorum is None else view.quorum.leader
    active = view.active_controller
    return Leaders.of(
        None if zookeeper is None else zookeeper.controller, polled if active is None else active
    )
