"""Plans an execution on the real cluster: every instance in its order, every command and gate.

A plan does nothing and evaluates no condition. An execution determines the next instance again each
time, so the order in the plan is the current one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from migration.assessment.conditions import parse
from orchestrator.errors import RunbookError
from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.hooks_file import Hooks
from orchestrator.runbook.instance_order import Member, in_order, rules_of
from orchestrator.runbook.model import (
    NO_ROLLBACK,
    Checkpoint,
    ForwardCheckpoint,
    Runbook,
    Step,
)
from orchestrator.runbook.places import forward, in_turn
from orchestrator.runbook.templates import fields_for, render


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One instance of a checkpoint.

    Attributes:
        id: its name in the execution: `brokers-kraft[3]`.
        where: the host and rack; "" for a checkpoint without instances.
        already, needs, opens_when: conditions, bound.
        people: how many people must approve; 0: none, or an earlier instance has the approval.
        given_at: the earlier checkpoint whose approval covers this one; None: there is none.
        step: its name; None: the execution only waits for the gate.
        command: the hook's command; None: the step is done by hand, or there is a problem.
        timeout_s: that of the command.
        manual: the step for an operator; None: a command performs it.
        problem: why the command cannot be made now.
        rollback: the rollback path from here; None: there is none.
    """

    id: str
    title: str
    where: str = ""
    already: tuple[str, ...]
    needs: tuple[str, ...]
    people: int = 0
    given_at: str | None = None
    irreversible: bool = False
    destructive: bool = False
    step: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: float | None = None
    manual: str | None = None
    problem: str | None = None
    opens_when: tuple[str, ...]
    rollback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """A rollback path; `then`: the path that continues it."""

    id: str
    title: str
    stops: tuple[Planned, ...]
    then: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of the forward path and of all rollback paths."""

    way: tuple[Planned, ...]
    ways_back: tuple[WayBack, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The commands that cannot be made, each with its instance."""
        stops = (*self.way, *(stop for way in self.ways_back for stop in way.stops))
        return tuple(dict.fromkeys(f"{stop.id}: {stop.problem}" for stop in stops if stop.problem))


def plan(runbook: Runbook, facts: ClusterFacts, hooks: Hooks | None) -> Plan:
    """Plan an execution; without hooks every step is done by hand."""
    planner = _Planner(runbook, facts, hooks)
    return Plan(
        way=planner.stops(place.checkpoint for place in in_turn(forward(runbook))),
        ways_back=tuple(
            WayBack(id=way.id, title=way.title, stops=planner.stops(way.checkpoints), then=way.then)
            for way in runbook.rollbacks
        ),
    )


class _Planner:
    """Plans checkpoints of one runbook for one cluster."""

    def __init__(self, runbook: Runbook, facts: ClusterFacts, hooks: Hooks | None) -> None:
        self._own = frozenset(each.name for each in runbook.conditions)
        self._facts = facts
        self._hooks = hooks

    def stops(self, checkpoints: Iterable[Checkpoint]) -> tuple[Planned, ...]:
        """Return the plan of every instance, in order."""
        return tuple(stop for checkpoint in checkpoints for stop in self._instances(checkpoint))

    def _instances(self, checkpoint: Checkpoint) -> Iterator[Planned]:
        each = checkpoint.for_each
        if each is None:
            yield self._planned(checkpoint, checkpoint.id, None)
            return
        members = self._facts.brokers if each == "broker" else self._facts.controllers
        if not members:
            yield self._planned(checkpoint, f"{checkpoint.id}[each {each}]", None)
        ordered = in_order(members, rules_of(checkpoint), self._facts.leaders)
        for number, member in enumerate(ordered):
            id_ = f"{checkpoint.id}[{member.id}]"
            yield self._planned(checkpoint, id_, member, first=not number)

    def _planned(
        self, checkpoint: Checkpoint, id_: str, member: Member | None, *, first: bool = True
    ) -> Planned:
        each = checkpoint.for_each
        bind = {} if member is None or each is None else {str(each): str(member.id)}
        values = self._facts.values(member, each)
        command, timeout_s, problem = self._command(checkpoint.step, values, member, each)
        by_hand = checkpoint.step is not None and command is None and problem is None
        return Planned(
            id=id_,
            title=checkpoint.title,
            where="" if each is None else _where(member, each),
            already=self._bound(checkpoint.already, bind),
            needs=self._bound(checkpoint.needs, bind),
            people=checkpoint.approval.people if checkpoint.approval and first else 0,
            given_at=checkpoint.approval.given_at if checkpoint.approval and first else None,
            irreversible=checkpoint.irreversible,
            destructive=checkpoint.destructive,
            step=None if checkpoint.step is None else checkpoint.step.name,
            command=command,
            timeout_s=timeout_s,
            manual=_manual(checkpoint, values) if by_hand else None,
            problem=problem,
            opens_when=self._bound(checkpoint.opens_when, bind),
            rollback=_rollback(checkpoint),
        )

    def _bound(self, texts: tuple[str, ...], bind: dict[str, str]) -> tuple[str, ...]:
        if not bind:  # `broker` stays a placeholder while no member is known
            return texts
        return tuple(parse(text, bind=bind, own=self._own).text for text in texts)

    def _command(
        self, step: Step | None, values: dict[str, str], member: Member | None, each: str | None
    ) -> tuple[tuple[str, ...] | None, float | None, str | None]:
        hook = None if step is None or self._hooks is None else self._hooks.command(step.name)
        if step is None or hook is None or self._hooks is None:
            return None, None, None
        timeout_s = hook.timeout.total_seconds()
        if each is not None and member is None:
            return hook.argv, timeout_s, None
        try:
            return tuple(self._hooks.argv(step.name, values)), timeout_s, None
        except RunbookError as error:
            return None, timeout_s, str(error)


def _where(member: Member | None, each: str) -> str:
    if member is None:
        return f"which {each}s there are is not known yet"
    host = f"on {member.host}" if member.host else "on an unknown host"
    return f"{host}, rack {member.rack}" if member.rack else host


def _manual(checkpoint: Checkpoint, values: dict[str, str]) -> str:
    names = fields_for(checkpoint.for_each)
    shown = {name: values.get(name, name.upper()) for name in names}
    return render("" if checkpoint.step is None else checkpoint.step.manual, shown).strip()


def _rollback(checkpoint: Checkpoint) -> str | None:
    if not isinstance(checkpoint, ForwardCheckpoint) or checkpoint.rollback == NO_ROLLBACK:
        return None
    return checkpoint.rollback
