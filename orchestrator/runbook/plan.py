"""Plans an execution on the real cluster: every instance in its order, every command and gate.

A plan does nothing and evaluates no condition. An execution determines the next instance again each
time, so the order in the plan is the current one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from migration.assessment.conditions import call_of, parse
from migration.values.durations import duration_text, parse_duration
from migration.values.evidence import count
from orchestrator.errors import RunbookError
from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.hooks_file import Hooks
from orchestrator.runbook.instance_order import Member, in_order, rules_of
from orchestrator.runbook.loaded import Loaded
from orchestrator.runbook.model import Approval, Checkpoint, Rollback, Runbook, Step
from orchestrator.runbook.places import forward, in_turn
from orchestrator.runbook.templates import readable, render


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One instance of a checkpoint.

    Attributes:
        id: its name in the execution: `brokers-kraft[3]`.
        where: the host and rack; "" for a checkpoint without instances.
        already, needs, opens_when: conditions, bound.
        approval: what is asked for here; None: nothing, or an earlier instance has the approval.
        command: the hook's command, redacted; None: the step is done by hand, or has a problem.
        timeout: that of the command.
        manual: the step for an operator; None: a command performs it.
        problem: why the command cannot be made now.
        member: the id of its broker or controller; None: it has none, or it is unknown.
        values: the known values of the fields of its step's command.
    """

    id: str
    checkpoint: Checkpoint
    where: str
    already: tuple[str, ...]
    needs: tuple[str, ...]
    opens_when: tuple[str, ...]
    approval: Approval | None
    command: tuple[str, ...] | None = None
    timeout: timedelta | None = None
    manual: str | None = None
    problem: str | None = None
    member: int | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of the forward path and of each rollback path, and what it was made from.

    Attributes:
        hooks: None: every step is done by hand.
    """

    loaded: Loaded
    facts: ClusterFacts
    hooks: Hooks | None
    way: tuple[Planned, ...]
    ways_back: tuple[tuple[Rollback, tuple[Planned, ...]], ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The commands that cannot be made, each with its instance."""
        stops = (*self.way, *(stop for _, stops in self.ways_back for stop in stops))
        return tuple(dict.fromkeys(f"{stop.id}: {stop.problem}" for stop in stops if stop.problem))

    @property
    def soak(self) -> timedelta:
        """The time that the conditions `soak` of the forward path take, at least."""
        parts = [part for each in self.way for part in (each.needs, each.opens_when)]
        return sum((_soak(part) for part in parts), timedelta())

    @property
    def summary(self) -> str:
        """One line: "9 steps, 6 broker restarts, 1 irreversible, 2 approvals, at least 2 h"."""
        steps = [each for each in self.way if each.checkpoint.step is not None]
        names = {each.checkpoint.id for each in steps}
        last = {each.checkpoint.id for each in steps if each.checkpoint.irreversible}
        approvals = [each.approval for each in steps if each.approval is not None]
        people = sum(each.people for each in approvals if each.given_at is None)
        counts = [
            count(len({each.checkpoint.id for each in self.way}), "checkpoint"),
            count(len(names), "step"),
            *(
                count(sum(each.checkpoint.for_each == kind for each in steps), f"{kind} restart")
                for kind in ("broker", "controller")
            ),
            f"{len(last)} irreversible",
            count(people, "approval"),
        ]
        soaked = self.soak // timedelta(milliseconds=1)
        least = [f"at least {duration_text(soaked)}"] if soaked else []
        return ", ".join([*(each for each in counts if not each.startswith("0 ")), *least])


def _soak(conditions: Iterable[str]) -> timedelta:
    """Return the longest soak of a part; its conditions are waited for together."""
    calls = (call_of(each) for each in conditions)
    found = (parse_duration(e.arguments[0]) for e in calls if e is not None and e.name == "soak")
    return max(found, default=timedelta())


def plan(loaded: Loaded, facts: ClusterFacts, hooks: Hooks | None) -> Plan:
    """Plan an execution; without hooks every step is done by hand.

    Raises:
        SecretUnknown: a secret of the hooks cannot be read, so a command could show it.
    """
    runbook = loaded.runbook
    planner = _Planner(runbook, facts, hooks)
    return Plan(
        loaded=loaded,
        facts=facts,
        hooks=hooks,
        way=planner.stops(place.checkpoint for place in in_turn(forward(runbook))),
        ways_back=tuple((way, planner.stops(way.checkpoints)) for way in runbook.rollbacks),
    )


class _Planner:
    def __init__(self, runbook: Runbook, facts: ClusterFacts, hooks: Hooks | None) -> None:
        self._own = frozenset(each.name for each in runbook.conditions)
        self._facts = facts
        self._hooks = hooks

    def stops(self, checkpoints: Iterable[Checkpoint]) -> tuple[Planned, ...]:
        return tuple(stop for checkpoint in checkpoints for stop in self._instances(checkpoint))

    def _instances(self, checkpoint: Checkpoint) -> Iterator[Planned]:
        each = checkpoint.for_each
        if each is None:
            yield self._planned(checkpoint, checkpoint.id, None)
            return
        members = self._facts.brokers if each == "broker" else self._facts.controllers
        nameless = 0 if each == "broker" else self._facts.nameless
        ordered = in_order(members, rules_of(checkpoint), self._facts.leaders)
        for number, member in enumerate(ordered):
            id_ = f"{checkpoint.id}[{member.id}]"
            yield self._planned(checkpoint, id_, member, first=not number)
        if nameless or not members:
            id_ = f"{checkpoint.id}[each {each}]"
            made = self._planned(checkpoint, id_, None, first=not members)
            rest = f"{count(nameless, 'configured controller')} with an unknown id"
            yield replace(made, where=rest) if members else made

    def _planned(
        self, checkpoint: Checkpoint, id_: str, member: Member | None, *, first: bool = True
    ) -> Planned:
        each = checkpoint.for_each
        bind = {} if member is None or each is None else {str(each): str(member.id)}
        made = Planned(
            id=id_,
            checkpoint=checkpoint,
            where="" if each is None else _where(member, each),
            already=self._bound(checkpoint.already, bind),
            needs=self._bound(checkpoint.needs, bind),
            opens_when=self._bound(checkpoint.opens_when, bind),
            approval=checkpoint.approval if first else None,
        )
        return made if checkpoint.step is None else self._with_step(made, checkpoint.step, member)

    def _bound(self, texts: tuple[str, ...], bind: dict[str, str]) -> tuple[str, ...]:
        if not bind:  # `broker` stays a placeholder while no member is known
            return texts
        return tuple(parse(text, bind=bind, own=self._own).text for text in texts)

    def _with_step(self, made: Planned, step: Step, member: Member | None) -> Planned:
        each = made.checkpoint.for_each
        values = self._facts.values(member, each)
        made = replace(made, member=None if member is None else member.id, values=values)
        hook = None if self._hooks is None else self._hooks.command(step.name)
        if hook is None or self._hooks is None:
            return replace(made, manual=render(step.manual, readable(values, each)).strip())
        redactor = self._hooks.redactor(step.name)
        if each is not None and member is None:
            return replace(made, command=tuple(redactor.argv(hook.argv)), timeout=hook.timeout)
        try:
            argv = self._hooks.argv(step.name, values)
        except RunbookError as error:
            return replace(made, problem=str(error))
        return replace(made, command=tuple(redactor.argv(argv)), timeout=hook.timeout)


def _where(member: Member | None, each: str) -> str:
    if member is None:
        return f"which {each}s there are is not known yet"
    host = f"on {member.host}" if member.host else "on an unknown host"
    return f"{host}, rack {member.rack}" if member.rack else host
