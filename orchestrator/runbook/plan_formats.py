"""Formats a plan as text, for the terminal and for a change request, and as JSON."""

import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from migration.values.durations import format_duration
from orchestrator.output.json_value import JsonValue
from orchestrator.runbook.cluster_facts import ClusterFacts
from orchestrator.runbook.instance_order import Member
from orchestrator.runbook.model import NO_ROLLBACK, ForwardCheckpoint
from orchestrator.runbook.plan import Plan, Planned

_WIDTH: Final = 100
_LABEL: Final = 12
_INDENT: Final = "    "


def plan_text(plan: Plan) -> str:
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"Plan for cluster {plan.facts.cluster}: {plan.loaded.runbook.title}"
    yield plan.summary
    yield f"runbook {plan.loaded.path}"
    by = "every step is done by hand" if plan.hooks is None else str(plan.hooks.path)
    yield f"hooks   {by}"
    yield from _cluster(plan.facts)
    yield from ("", "This is the current order; it is determined again before each instance.")
    yield from _stops(plan.way, "")
    for way, stops in plan.ways_back:
        yield from ("", f"ROLLBACK {way.id}: {way.title}")
        yield from _stops(stops, "B")
        if way.then is not None:
            yield from ("", f"The rollback {way.then} follows.")
    if plan.problems:
        yield from ("", "These commands cannot be made now:")
        yield from (f"  {line}" for line in plan.problems)


def _cluster(facts: ClusterFacts) -> Iterator[str]:
    for kind, members, last in (
        ("broker", facts.brokers, facts.leaders.zookeeper_controller),
        ("controller", facts.controllers, facts.leaders.active_controller),
    ):
        if not members:
            yield f"no {kind} is known"
        yield from (_member(kind, member, leads=member.id == last) for member in members)
    for line in facts.not_known:
        yield f"not known: {line}"


def _member(kind: str, member: Member, *, leads: bool) -> str:
    rack = f", rack {member.rack}" if member.rack else ""
    role = ""
    if leads:
        role = ", ZooKeeper's controller" if kind == "broker" else ", active"
    return f"{kind} {member.id} on {member.host or '?'}{rack}{role}"


def _stops(stops: Iterable[Planned], prefix: str) -> Iterator[str]:
    number, part, last = 0, 0, ""
    for stop in stops:
        name, _, instance = stop.id.partition("[")
        if name != last:
            number, part, last = number + 1, 0, name
        part += 1
        shown = f"{prefix}{number}.{part}" if instance else f"{prefix}{number}"
        where = f" {stop.where}" if stop.where else ""
        yield from ("", f"{shown} {stop.id}{where}: {stop.checkpoint.title}")
        yield from _stop(stop)


def _stop(stop: Planned) -> Iterator[str]:
    checkpoint = stop.checkpoint
    if stop.already:
        yield from _labelled("done if", ", ".join(stop.already))
    if stop.needs:
        yield from _labelled("needs", ", ".join(stop.needs))
    yield from _approval(stop)
    if checkpoint.irreversible:
        yield from _labelled("", "No rollback is possible once this has begun.")
    if checkpoint.destructive:
        yield from _labelled("", "This destroys data, or the storage of data.")
    if stop.command is not None and stop.timeout is not None:
        limit = format_duration(stop.timeout)
        yield f"{_INDENT}{'runs':<{_LABEL}}{shlex.join(stop.command)}  (at most {limit})"
    if stop.problem is not None:
        yield from _labelled("runs", f"cannot be made: {stop.problem}")
    if stop.manual is not None and checkpoint.step is not None:
        yield f"{_INDENT}{'by hand':<{_LABEL}}step {checkpoint.step.name}:"
        yield textwrap.indent(stop.manual, _INDENT * 2)
    yield from _labelled("opens when", ", ".join(stop.opens_when))
    rollback = checkpoint.rollback if isinstance(checkpoint, ForwardCheckpoint) else None
    if rollback not in (None, NO_ROLLBACK):
        yield from _labelled("rollback", rollback)


def _approval(stop: Planned) -> Iterator[str]:
    if stop.approval is None:
        return
    if stop.approval.given_at is not None:
        yield from _labelled("approval", f"given at {stop.approval.given_at}, also for this step")
        return
    people = "1 person" if stop.approval.people == 1 else f"{stop.approval.people} people"
    confirm = " --confirm CLUSTER" if stop.checkpoint.cannot_be_undone else ""
    command = f'kraftgate approve {shlex.quote(stop.id)} --reason "..."{confirm}'
    yield from _labelled("approval", f"{people}: {command}")


def _labelled(label: str, text: str) -> Iterator[str]:
    first = f"{_INDENT}{label:<{_LABEL}}"
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def plan_json(plan: Plan) -> dict[str, object]:
    """Return the plan; `sha256` identifies the file of the runbook, or of the hooks."""
    hooks = plan.hooks
    return {
        "cluster": plan.facts.cluster,
        "summary": plan.summary,
        "runbook": plan.loaded.identity,
        "hooks": None if hooks is None else {"file": str(hooks.path), "sha256": hooks.sha256},
        "soak_seconds": plan.soak.total_seconds(),
        "checkpoints": list(_json_of(plan.way)),
        "rollbacks": [
            {
                "id": way.id,
                "title": way.title,
                "then": way.then,
                "checkpoints": list(_json_of(stops)),
            }
            for way, stops in plan.ways_back
        ],
        "problems": list(plan.problems),
        "not_known": list(plan.facts.not_known),
    }


def _json_of(stops: Iterable[Planned]) -> Iterator[JsonValue]:
    for stop in stops:
        checkpoint = stop.checkpoint
        yield {
            "id": stop.id,
            "title": checkpoint.title,
            "where": stop.where,
            "step": None if checkpoint.step is None else checkpoint.step.name,
            "command": None if stop.command is None else list(stop.command),
            "timeout": None if stop.timeout is None else format_duration(stop.timeout),
            "by_hand": stop.manual,
            "problem": stop.problem,
            "already": list(stop.already),
            "needs": list(stop.needs),
            "opens_when": list(stop.opens_when),
            "approvals": 0 if stop.approval is None else stop.approval.people,
            "approved_at": None if stop.approval is None else stop.approval.given_at,
            "irreversible": checkpoint.irreversible,
            "destructive": checkpoint.destructive,
        }
