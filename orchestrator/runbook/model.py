"""The shape of a runbook, as pydantic checks it; `checks` has the rules for more than one key.

A checkpoint is passed in this order: its guards (`needs`) hold, it is approved, its step is done
(or was done `already`), its gate (`opens_when`) holds. With `for_each` it has an instance for each
broker or controller, one after the other, named like `brokers-kraft[3]`.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from orchestrator.config.values import Strict
from orchestrator.runbook.values import (
    Argv,
    Conditions,
    Duration,
    Given,
    Id,
    Ids,
    Text,
    Url,
    Variables,
)

NO_ROLLBACK: Final = "none"
"""The value of `rollback` where there is nothing to undo; it requires a reason."""

Each: TypeAlias = Literal["broker", "controller"]
Part: TypeAlias = Literal["already", "needs", "opens_when"]
"""A list of conditions of a checkpoint: is its step needed, may it begin, is it done?"""
OrderRule: TypeAlias = Literal["rack", "zookeeper_controller_last", "active_controller_last"]
OrderRules: TypeAlias = Annotated[tuple[OrderRule, ...], Field(strict=False)]


class Approval(Strict):
    """Who must agree before the step is done."""

    people: int = Field(
        default=1,
        ge=1,
        le=5,
        description="How many different people must approve; a login is one person.",
    )
    given_at: Given[Id] = Field(
        default=None,
        description="An earlier checkpoint whose approval also covers this step, because no"
        " approval may delay this step, or because the earlier checkpoint asks for both. This"
        " checkpoint asks for the approval only if it was not given at the earlier one. Absent:"
        " this step has its own approval.",
    )


class Step(Strict):
    """What is done, by the operator's own command or by hand."""

    name: Id = Field(description="What a file of hooks maps to a command, such as enter-kraft.")
    do: Given[Text] = Field(
        default=None,
        description="The step as one instruction, the headline of all screens while it is due:"
        " `Restart broker {broker} on {host} in KRaft mode`. The same fields as `manual`. Absent:"
        " the headline has the step's name.",
    )
    manual: Text = Field(
        description="What an operator does, on which host. Fields: {cluster}, {cluster_id},"
        " {phase}, {brokers}, {controllers}, {zookeeper}; for each broker also {broker}, {host},"
        " {rack},"
        " {log_dirs} (paths, as a command takes them) and {quorum_line}, for each controller"
        " {controller}, {host}; for a step that is done once also lines of controller.properties:"
        " {quorum_line} (controller.quorum.voters=...), {controller_lines} (node.id and listeners"
        " of each controller), and the values {listener_map} and {inter_broker_listener} of the"
        " brokers. A brace itself is written twice."
    )


class Checkpoint(Strict):
    """One checkpoint: guards, a step, a gate."""

    id: Id = Field(description="Its name, unique in the file.")
    title: Text = Field(description="Its title, in one line.")
    explain: Text = Field(description="Its purpose, for the operator who reads it at night.")
    for_each: Given[Each] = Field(
        default=None, description="An instance for each of these, one at a time. Absent: once."
    )
    order: Given[OrderRules] = Field(
        default=None,
        description="The order of the instances: rack by rack; the ZooKeeper controller, or the"
        " active KRaft controller, last; then by id. Absent: all that apply to its kind of"
        " instance.",
    )
    already: Conditions = Field(
        default=(), description="The step is not needed for an instance where all of these hold."
    )
    needs: Conditions = Field(
        default=(),
        description="The guards: all must hold before the step is done; with soak(...),"
        " without a break for that time.",
    )
    step: Given[Step] = Field(
        default=None, description="Absent: the execution only waits for the gate."
    )
    opens_when: Conditions = Field(
        default=(), description="The gate: all must hold before the execution continues."
    )
    approval: Given[Approval] = Field(
        default=None,
        description="Given once, before the first instance's step. Absent: no approval is needed.",
    )
    irreversible: bool = Field(
        default=False,
        description="It has no rollback: it needs an approval and a soak before it, and is never"
        " skipped.",
    )
    destructive: bool = Field(
        default=False,
        description="Its step removes data, or the storage that holds it: it needs an approval and"
        " a soak before it.",
    )

    @property
    def cannot_be_undone(self) -> bool:
        """Whether its approval must be confirmed with the cluster's name."""
        return self.irreversible or self.destructive


class ForwardCheckpoint(Checkpoint):
    """A checkpoint on the way forward, with the rollback from it."""

    after: Given[Ids] = Field(
        default=None,
        description="The checkpoints that must be passed before. Absent: the one above it.",
    )
    rollback: Given[Id] = Field(
        default=None,
        description="The id of the rollback from here, or `none` with `rollback_reason`."
        " Required before an irreversible checkpoint; on it, the rollback until its step"
        " has begun; after it, one that undoes only what followed it.",
    )
    rollback_reason: Given[Text] = Field(
        default=None, description="Why nothing has to be rolled back here."
    )


class Rollback(Strict):
    """A rollback, with checkpoints of its own."""

    id: Id = Field(description="The value that `rollback` of a checkpoint names.")
    title: Text = Field(description="Its title, in one line.")
    explain: Text = Field(description="Until when it is possible, and what it leaves behind.")
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(strict=False, min_length=1)] = Field(
        description="Passed one after the other."
    )
    then: Given[Id] = Field(
        default=None, description="The id of the rollback that follows this one."
    )


class ShellCondition(Strict):
    """A command that answers by its exit code: 0 satisfied, 1 waiting, 2 violated, else unknown."""

    argv: Argv = Field(description="The program and its arguments; no shell is involved.")
    timeout: Duration = Field(
        default="30s", validate_default=True, description="After this time the result is unknown."
    )
    pass_env: Variables = Field(
        default=(), description="Variables of Kraftgate's own environment that the command gets."
    )


class PromqlCondition(Strict):
    """A query: satisfied when it gives a vector of non-zero values, waiting when none or a zero."""

    url: Url = Field(description="The URL of Prometheus, such as http://prometheus:9090.")
    query: Text = Field(description="PromQL.")
    timeout: Duration = Field(
        default="10s", validate_default=True, description="After this time the result is unknown."
    )


class OwnCondition(Strict):
    """A condition of the user's own: `shell` or `promql`."""

    name: Id = Field(description="Its name in a checkpoint's conditions.")
    explain: Given[Text] = Field(default=None, description="Its meaning.")
    shell: Given[ShellCondition] = Field(default=None, description="A command evaluates it.")
    promql: Given[PromqlCondition] = Field(default=None, description="Prometheus evaluates it.")


class Runbook(Strict):
    """The whole file."""

    runbook: Literal[1] = Field(description="The format of the file.")
    name: Id = Field(description="Its name in commands.")
    title: Text = Field(description="What it is for, in one line.")
    explain: Text = Field(description="What an operator must know before it begins.")
    checkpoints: Annotated[tuple[ForwardCheckpoint, ...], Field(strict=False, min_length=1)] = (
        Field(description="The forward path.")
    )
    rollbacks: Annotated[tuple[Rollback, ...], Field(strict=False)] = Field(
        default=(), description="The rollback paths."
    )
    conditions: Annotated[tuple[OwnCondition, ...], Field(strict=False)] = Field(
        default=(), description="The user's own conditions."
    )

    def rollback_path(self, id_: str) -> tuple[Checkpoint, ...]:
        """Return the checkpoints of a rollback path, and those of the paths that continue it.

        Raises:
            KeyError: there is no such path; a checked runbook names no unknown one.
        """
        ways = {way.id: way for way in self.rollbacks}
        found: list[Checkpoint] = []
        following: str | None = id_
        while following is not None:
            way = ways.pop(following)  # each path is used once: a checked runbook has no cycle
            found.extend(way.checkpoints)
            following = way.then
        return tuple(found)
