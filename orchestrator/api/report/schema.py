"""The published JSON Schema (2020-12) of `kraftgate report --format json`, made of its models."""

import json
from typing import Any, Final, TypeAlias

from orchestrator.api.report.report import Report
from orchestrator.runbook.schema import Plain

Schema: TypeAlias = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ID: Final = "urn:kraftgate:report:1"


def schema() -> Schema:
    """Make the schema."""
    made = Report.model_json_schema(mode="serialization", schema_generator=Plain)
    definitions = made.pop("$defs")
    return {
        "$schema": _DIALECT,
        "$id": _ID,
        **made,
        "title": "Kraftgate report",
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Write the schema as it is published."""
    return json.dumps(schema(), indent=2) + "\n"
