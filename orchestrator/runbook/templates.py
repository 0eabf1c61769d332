"""Texts with fields, such as `On {host} restart broker {broker}`.

They are Python's format strings with only a plain name between braces; a literal brace is written
twice. The available fields depend on the checkpoint's `for_each`.
"""

from collections.abc import Collection, Iterator, Mapping
from string import Formatter
from typing import Final

from migration.values.nearest import did_you_mean
from orchestrator.runbook.model import Each

ALWAYS: Final = ("cluster", "cluster_id", "phase", "brokers", "controllers", "zookeeper")
"""The cluster's name and id, the migration's phase, and the configured addresses."""
CONTROLLER_LINES: Final = "controller_lines"
"""The lines of controller.properties that each controller has for itself: a text of many lines."""
LOG_DIRS: Final = "log_dirs"
"""The log directories of a broker, in the order of its setting, as words of a command."""
_OF_TEXTS: Final[Mapping[Each | None, tuple[str, ...]]] = {
    None: ("quorum_line", CONTROLLER_LINES, "listener_map", "inter_broker_listener"),
    "broker": ("quorum_line", LOG_DIRS),
    "controller": (),
}
"""More fields of a step's texts: parts of properties files, which no command needs."""
_UNKNOWN: Final[Mapping[str, str]] = {
    "host": "its host",
    "quorum_line": "controller.quorum.voters=ID@HOST:PORT,ID@HOST:PORT,ID@HOST:PORT",
    CONTROLLER_LINES: "node.id=ID\nlisteners=CONTROLLER://HOST:PORT",
}
"""What a text has in place of a value that is unknown; otherwise the field's name in capitals."""
_OF_EACH: Final[Mapping[Each | None, tuple[str, ...]]] = {
    None: (),
    "broker": ("broker", "host", "rack"),
    "controller": ("controller", "host"),
}


def fields_for(for_each: Each | None) -> tuple[str, ...]:
    """Return the fields that a step's text may have."""
    return (*_of_commands(for_each), *_OF_TEXTS[for_each])


def _of_commands(for_each: Each | None) -> tuple[str, ...]:
    return (*ALWAYS, *_OF_EACH[for_each])


def readable(values: Mapping[str, str], for_each: Each | None) -> dict[str, str]:
    """Return a value for each field of a step's text, with a placeholder where it is unknown."""
    return {
        name: values.get(name, _UNKNOWN.get(name, name.upper())) for name in fields_for(for_each)
    }


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
            raise ValueError(f"{{{inside}}} is not a field: write {{host}}, or {{{{ for a brace")
        found[name] = None
    return tuple(found)


def _parsed(text: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    try:
        yield from Formatter().parse(text)
    except ValueError as error:
        raise ValueError(f"unmatched brace ({error}): write {{{{ or }}}}") from None


def complaint(
    text: str, for_each: Each | None, in_command: Collection[str] | None = None
) -> str | None:
    """Return the problem with a text's fields; None: there is none.

    `in_command`: the text is a word of a command, which may have these fields, too.
    """
    try:
        names = fields_in(text)
    except ValueError as error:
        return str(error)
    allowed = fields_for(for_each)
    if in_command is not None:
        allowed = (*_of_commands(for_each), *in_command)
    for name in names:
        if name in allowed:
            continue
        others = [each for each, own in _OF_EACH.items() if name in own and each is not None]
        if others:
            return f"{{{name}}} exists only with `for_each: {' or '.join(others)}`"
        return f"unknown field {{{name}}}; {did_you_mean(name, allowed)}"
    return None


def render(text: str, values: Mapping[str, str]) -> str:
    """Fill the values into a checked text; the lines of a value are indented like its field's."""
    return "\n".join(_rendered(line, values) for line in text.split("\n"))


def _rendered(line: str, values: Mapping[str, str]) -> str:
    margin = "\n" + line[: len(line) - len(line.lstrip())]
    return line.format_map({name: each.replace("\n", margin) for name, each in values.items()})
