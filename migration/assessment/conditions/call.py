"""Splits a condition's text into its name and its arguments."""

import re
from dataclasses import dataclass
from typing import Final

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
