"""Texts with fields, such as `On {host} restart broker {broker}`.

They are Python's format strings with only a plain name between braces; a literal brace is written
twice. The available fields depend on the checkpoint's `for_each`.
"""

from collections.abc import Collection, Iterator, Mapping
from string import Formatter
from typing import Final

from migration.values.nearest import did_you_mean
from orchestrator.runbook.model import Each

ALWAYS: Final = ("cluster", "phase", "brokers", "controllers", "zookeeper")
"""The cluster's name, the migration's phase, and the configured addresses."""
_OF_EACH: Final[Mapping[Each | None, tuple[str, ...]]] = {
    None: (),
    "broker": ("broker", "host", "rack"),
    "controller": ("controller", "host"),
}


def fields_for(for_each: Each | None) -> tuple[str, ...]:
    """Return the fields that a step's text may have."""
    return (*ALWAYS, *_OF_EACH[for_each])


def fields_in(text: str) -> tuple[str, ...]:
    """Return the fields of a text, each once, in their order.

    Raises:
        ValueError: it is not a template: an unclosed brace, or more than a name between braces.
    """
    found: dict[str, None] = {}
    for _, name, spec, conversion in _parsed(text):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            inside = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise ValueError(f"{{{inside}}} is no field: write {{host}}, or {{{{ for a brace")
        found[name] = None
    return tuple(found)


def _parsed(text: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    try:
        yield from Formatter().parse(text)
    except ValueError as error:
        raise ValueError(f"a brace has no partner ({error}): write {{{{ or }}}}") from None


def complaint(text: str, for_each: Each | None, more: Collection[str] = ()) -> str | None:
    """Return the problem with a text's fields; None: there is none. `more`: further fields."""
    try:
        names = fields_in(text)
    except ValueError as error:
        return str(error)
    allowed = (*fields_for(for_each), *more)
    for name in names:
        if name in allowed:
            continue
        others = [each for each, own in _OF_EACH.items() if name in own and each is not None]
        if others:
            return f"{{{name}}} exists only with `for_each: {' or '.join(others)}`"
        return f"unknown field {{{name}}}; {did_you_mean(name, allowed)}"
    return None


def render(text: str, values: Mapping[str, str]) -> str:
    """Fill the values into a checked text."""
    return text.format_map(values)
