"""The reference pages by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from orchestrator.reference.commands import commands
from orchestrator.reference.conditions import conditions
from orchestrator.reference.configuration import configuration
from orchestrator.reference.events import events
from orchestrator.reference.exit_codes import exit_codes
from orchestrator.reference.hazards import hazards
from orchestrator.reference.metrics import metrics

PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "commands": commands,
        "conditions": conditions,
        "configuration": configuration,
        "events": events,
        "exit-codes": exit_codes,
        "hazards": hazards,
        "metrics": metrics,
    }
)
"""Each page's name, and the function that returns its text."""
