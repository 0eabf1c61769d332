"""Parses conditions (`finalized`, `broker_mode(3, kraft)`, `soak(10m)`); lists all kinds."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from migration.assessment.conditions import (
    brokers,
    comparisons,
    controllers,
    directories,
    guards,
    phases,
    replication,
    zookeeper,
)
from migration.assessment.conditions.authority import not_known
from migration.assessment.conditions.condition import (
    Condition,
    ConditionError,
    of_a_broker,
)
from migration.assessment.conditions.kind import Kind, Refused
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, finding, unknown
from migration.image.summary import Phase
from migration.values.nearest import did_you_mean

_KINDS: Final[Mapping[str, Kind]] = {
    each.name: each
    for subject in (
        phases,
        brokers,
        directories,
        replication,
        controllers,
        zookeeper,
        comparisons,
        guards,
    )
    for each in vars(subject).values()
    if isinstance(each, Kind)
}
_PHASES: Final = frozenset(map(str, Phase))
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
SOAK: Final = "soak"
"""The condition that counts the time since all the others hold."""
_CALL: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True, slots=True)
class Call:
    """A condition's name and arguments as written: `broker_mode(broker, kraft)`."""

    name: str
    arguments: tuple[str, ...] = ()


def call_of(text: str) -> Call | None:
    """Split a condition's text; None: it is not a condition."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, given = match.groups()
    arguments = (given or "").split(",") if (given or "").strip() else []
    return Call(name, tuple(each.strip() for each in arguments))


def known() -> Collection[Kind]:
    """Return all kinds of conditions; a phase's bare name means `phase(PHASE)`."""
    return _KINDS.values()


def parse(text: str, *, bind: Mapping[str, str] = _NOTHING, own: Collection[str] = ()) -> Condition:
    """Parse a condition.

    Args:
        text: The condition as an operator writes it.
        bind: Values of placeholders: `{"broker": "3"}` replaces an argument `broker`.
        own: Names of the users' own conditions, which take no argument.

    Raises:
        ConditionError: it is not a condition; the message has the nearest one.
    """
    call = call_of(text)
    if call is None:
        raise ConditionError(
            f"{text!r} is not a condition: write one like finalized or offset(1439)"
        )
    name, arguments = call.name, [bind.get(each, each) for each in call.arguments]
    if name in _KINDS:
        return _of_kind(_KINDS[name], arguments)
    if name in _PHASES:
        if arguments:
            raise ConditionError(f"the phase `{name}` takes no argument: write {name}")
        return _of_kind(_KINDS["phase"], [name])
    if name in own:
        if arguments:
            raise ConditionError(f"the condition `{name}` takes no argument")
        return external(name)
    raise ConditionError(
        f"unknown condition `{name}`; {did_you_mean(name, (*_KINDS, *_PHASES, *own))}"
    )


def _of_kind(kind: Kind, arguments: Sequence[str]) -> Condition:
    if arguments and not kind.parameters:
        raise ConditionError(f"the condition `{kind.name}` takes no argument")
    needed = len(kind.parameters) - kind.optional
    if len(arguments) < needed:
        what = "an argument" if len(kind.parameters) == 1 else f"{needed} arguments"
        raise ConditionError(f"the condition `{kind.name}` needs {what}: write {kind.example}")
    if len(arguments) > len(kind.parameters):
        raise ConditionError(f"too many arguments of `{kind.name}`: write {kind.signature}")
    values, texts = [], []
    broker: int | None = None
    controller: int | None = None
    for parameter, argument in zip(kind.parameters, arguments, strict=False):
        try:
            value = parameter.read(argument)
        except Refused as error:
            raise ConditionError(_refused(kind, argument, error)) from error
        values.append(value)
        texts.append(parameter.text(value))
        if parameter.broker and isinstance(value, int):
            broker = value
        if parameter.controller and isinstance(value, int):
            controller = value
    return Condition(
        text=f"{kind.name}({', '.join(texts)})" if texts else kind.name,
        name=kind.name,
        needs=kind.sources,
        rule=partial(_judge, kind, tuple(values), broker),
        broker=broker,
        controller=controller,
    )


def _refused(kind: Kind, argument: str, error: Refused) -> str:
    if kind.name == "phase":
        return f"unknown phase `{argument}`; {did_you_mean(argument, _PHASES)}"
    example = f": write {kind.example}" if error.example else ""
    return f"`{kind.name}` {error}{example}"


def _judge(kind: Kind, values: tuple[object, ...], broker: int | None, view: View) -> Finding:
    answer = not_known(view, *kind.requires) or kind.rule(view, *values)
    return answer if broker is None else of_a_broker(view, broker, answer)


def external(name: str) -> Condition:
    """Return a condition that is evaluated elsewhere; the view has its result under this name."""

    def rule(view: View) -> Finding:
        if DataSource.EXTERNAL in view.not_current:
            return unknown(view.not_current[DataSource.EXTERNAL])
        found = view.external.get(name)
        if found is None:
            return unknown(f"`{name}` has not been evaluated yet")
        return finding(found.verdict, found.reason, found.evidence, found.evidence_total)

    return Condition(text=name, name=name, needs=frozenset({DataSource.EXTERNAL}), rule=rule)
