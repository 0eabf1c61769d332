"""A condition as it stands in a runbook: its name and its arguments, before anything is bound."""

import re
from dataclasses import dataclass
from typing import Final, get_args

from orchestrator.runbook.model import Each

SOAK: Final = "soak"
EACH: Final[tuple[str, ...]] = get_args(Each)
_CALL: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True, slots=True)
class Call:
    """`broker_mode(broker, kraft)`: a name and its arguments as they are written."""

    name: str
    arguments: tuple[str, ...] = ()

    @property
    def stands_for(self) -> frozenset[str]:
        """Which words among the arguments stand for an instance: `broker`, `controller`."""
        return frozenset(self.arguments) & frozenset(EACH)


def call_of(text: str) -> Call | None:
    """Take a condition's text apart; None: it is none."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, given = match.groups()
    arguments = (given or "").split(",") if (given or "").strip() else []
    return Call(name, tuple(each.strip() for each in arguments))
