"""What an operator's action concerns, as an opaque value that a page shows and sends back."""

import hashlib
import json
from typing import Final

from orchestrator.audit.execution.state import ExecutionState

_OF_EXECUTION: Final = frozenset({"pause", "abort", "begin"})


def concern(action: str, execution: ExecutionState) -> str:
    """Return a value that changes when `action` would act on something else.

    A pause, an abort and a new beginning concern one execution; the end of a pause concerns that
    pause. All other actions concern one attempt at the current checkpoint.
    """
    found: list[object] = [execution.sequence]
    if action == "resume":
        found.append(execution.pauses)
    elif action not in _OF_EXECUTION:
        found.append(execution.place)
    return opaque(found)


def opaque(value: object) -> str:
    """Return a short text that differs for each JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
