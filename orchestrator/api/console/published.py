"""The JSON Schema of everything that the console answers, made from the models."""

import json
from functools import cache
from typing import Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from orchestrator.api.console.answers import (
    Beat,
    Done,
    EventPage,
    Failure,
    PendingPage,
    Say,
    Session,
    Timeline,
)
from orchestrator.api.console.execution import GateEvidence
from orchestrator.api.console.state import Change, State

SHAPES: Final[tuple[type[BaseModel], ...]] = (
    State,
    Change,
    Beat,
    Session,
    Timeline,
    EventPage,
    PendingPage,
    GateEvidence,
    Say,
    Done,
    Failure,
)


@cache
def schema() -> dict[str, object]:
    """Every shape by its name in `$defs`."""
    _, found = models_json_schema(
        [(each, "serialization") for each in SHAPES], title="The console of kraftgate"
    )
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


@cache
def schema_text() -> str:
    """The same as it is served."""
    return json.dumps(schema())
