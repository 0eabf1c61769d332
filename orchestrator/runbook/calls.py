"""Parses a condition's text into its name and arguments, before anything is bound."""

import re
from dataclasses import dataclass
from typing import Final, get_args

from orchestrator.runbook.model import Each

SOAK: Final = "soak"
EACH: Final[tuple[str, ...]] = get_args(Each)
_CALL: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True, slots=True)
class Call:
    """A condition's name and arguments as written: `broker_mode(broker, kraft)`."""

    name: str
    arguments: tuple[str, ...] = ()

    @property
    def stands_for(self) -> frozenset[str]:
        """The arguments that are placeholders for an instance: `broker`, `controller`."""
        return frozenset(self.arguments) & frozenset(EACH)


def call_of(text: str) -> Call | None:
    """Parse a condition's text; None: it is not a condition."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, given = match.groups()
    arguments = (given or "").split(",") if (given or "").strip() else []
    return Call(name, tuple(each.strip() for each in arguments))
