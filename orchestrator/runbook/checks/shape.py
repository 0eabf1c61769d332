"""Checks single checkpoints: the id, step, gate, texts and order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from orchestrator.config.yaml_lines import Problem
from orchestrator.runbook.model import Checkpoint, Each, OrderRule
from orchestrator.runbook.places import Place, backward, forward
from orchestrator.runbook.templates import complaint

if TYPE_CHECKING:
    from orchestrator.runbook.loaded import Loaded

RULES: Final[dict[Each, tuple[OrderRule, ...]]] = {
    "broker": ("rack", "zookeeper_controller_last"),
    "controller": ("active_controller_last",),
}
"""The rules that can order the instances of each kind; a file that names none uses all of them."""


def shape(loaded: "Loaded") -> Iterator[Problem]:
    """Yield the problems of single checkpoints."""
    book = loaded.runbook
    places = (*forward(book), *backward(book))
    first: dict[str, int] = {}
    for place in places:
        checkpoint, path = place.checkpoint, place.path
        line = loaded.line(*path, "id")
        if checkpoint.id in first:
            what = (
                f"the id `{checkpoint.id}` is taken (line {first[checkpoint.id]}): choose another"
            )
            yield Problem(line=line, what=what)
        first.setdefault(checkpoint.id, line)
        yield from _step_and_gate(loaded, place)
        yield from _each(loaded, place)


def _step_and_gate(loaded: "Loaded", place: Place) -> Iterator[Problem]:
    checkpoint, path = place.checkpoint, place.path
    if not checkpoint.opens_when:
        what = (
            f"`{checkpoint.id}` has neither a step nor a gate: what is it for?"
            if checkpoint.step is None
            else f"the gate of `{checkpoint.id}` has no condition: what shows that its step is"
            " done? Write opens_when"
        )
        yield Problem(line=loaded.line(*path, "opens_when"), what=what)
    if checkpoint.step is not None:
        wrong = complaint(checkpoint.step.manual, checkpoint.for_each)
        if wrong is not None:
            yield Problem(line=loaded.line(*path, "step", "manual"), what=wrong)
    elif checkpoint.already:
        what = f"`{checkpoint.id}` has `already` and no step that could be done already"
        yield Problem(line=loaded.line(*path, "already"), what=what)


def _each(loaded: "Loaded", place: Place) -> Iterator[Problem]:
    checkpoint, path = place.checkpoint, place.path
    if checkpoint.order is None:
        return
    allowed = () if checkpoint.for_each is None else RULES[checkpoint.for_each]
    for position, rule in enumerate(checkpoint.order):
        if rule in allowed:
            continue
        what = f"the order `{rule}` needs `for_each: {_kind_of(rule)}`"
        yield Problem(line=loaded.line(*path, "order", position), what=what)


def _kind_of(rule: OrderRule) -> Each:
    return next(each for each, rules in RULES.items() if rule in rules)


def rules_of(checkpoint: Checkpoint) -> tuple[OrderRule, ...]:
    """Return the rules that order a checkpoint's instances."""
    if checkpoint.for_each is None:
        return ()
    return RULES[checkpoint.for_each] if checkpoint.order is None else checkpoint.order
