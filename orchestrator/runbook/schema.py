"""The published JSON Schema (2020-12) of a runbook, with which an editor completes and checks it.

It is made from the models and the conditions' own signatures. Rules for the whole file (unknown
ids, cycles, phases) are not in it: `kraftgate runbook check` checks them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from migration.assessment.conditions import known
from migration.assessment.conditions.kind import Kind
from migration.image.summary import Phase
from orchestrator.runbook.checks.final import MARKS
from orchestrator.runbook.hooks_file import HooksFile
from orchestrator.runbook.model import NO_ROLLBACK, Runbook
from orchestrator.runbook.values import CONDITION_FORMAT, ID_PATTERN

Schema: TypeAlias = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NULL: Final = {"type": "null"}
_ID: Final = "urn:kraftgate:runbook:1"
_HOOKS_ID: Final = "urn:kraftgate:hooks:1"


def schema() -> Schema:
    refs, made = models_json_schema([(Runbook, "validation")], schema_generator=Plain)
    definitions: Schema = _settled(made["$defs"])
    definitions["Condition"] = _condition()
    _across_keys(definitions)
    root = {
        "title": "Kraftgate runbook",
        "description": "Checkpoints that only the cluster's own state can open, and rollbacks.",
        **refs[(Runbook, "validation")],
    }
    return published(_ID, root, definitions)


def hooks_schema() -> Schema:
    refs, made = models_json_schema([(HooksFile, "validation")], schema_generator=Plain)
    definitions: Schema = _settled(made["$defs"])
    steps = definitions["HooksFile"]["properties"]["steps"]
    steps["propertyNames"] = {"pattern": f"^{ID_PATTERN}$"}  # pydantic leaves out what keys must be
    root = {
        "title": "Kraftgate hooks",
        "description": "The commands that perform the steps of a runbook.",
        **refs[(HooksFile, "validation")],
    }
    return published(_HOOKS_ID, root, definitions)


def published(id_: str, root: Schema, definitions: Schema) -> Schema:
    """Return a schema with its dialect and id; the definitions are sorted by name."""
    return {"$schema": DIALECT, "$id": id_, **root, "$defs": dict(sorted(definitions.items()))}


def schema_text(*, of_hooks: bool = False) -> str:
    """Return the schema of runbooks, or of files of hooks, as it is published."""
    return json.dumps(hooks_schema() if of_hooks else schema(), indent=2) + "\n"


class Plain(GenerateJsonSchema):
    """Omits the titles that pydantic makes of names, because they only repeat the names."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  # pydantic's
        return False


def _settled(part: Any) -> Any:  # noqa: ANN401  # any JSON
    """Refer to the one definition of conditions; optional keys may be absent, but not null."""
    if isinstance(part, Mapping):
        if part.get("format") == CONDITION_FORMAT:
            return {"$ref": "#/$defs/Condition"}
        found = {key: _settled(value) for key, value in part.items()}
        if _NULL in found.get("anyOf", ()):
            (only,) = (each for each in found.pop("anyOf") if each != _NULL)
            del found["default"]
            found = {**only, **found}
        return found
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [_settled(each) for each in part]
    return part


def _condition() -> Schema:
    return {
        "description": "A condition on the cluster: it is satisfied, waiting, violated or unknown;"
        " only satisfied opens a gate. `broker` and `controller` stand for the instance.",
        "type": "string",
        "anyOf": list(_kinds()),
    }


def _kinds() -> Iterator[Schema]:
    for each in known():
        yield {"title": each.signature, "description": each.explains, **_accepts(each)}
    yield {
        "title": "PHASE",
        "description": "The migration has reached this phase, or passed it.",
        "enum": [str(phase) for phase in Phase],
    }
    built_in = "|".join(each.name for each in known())
    yield {
        "title": "a condition of your own",
        "description": "One of this file's `conditions`.",
        "pattern": f"^(?!(?:{built_in})$){ID_PATTERN}$",
    }


def _accepts(kind: Kind) -> Schema:
    """Return the part of the schema that accepts the conditions of one kind."""
    if not kind.parameters:
        return {"const": kind.name}
    needed = len(kind.parameters) - kind.optional
    arguments, *others = (each.pattern for each in kind.parameters)
    for place, each in enumerate(others, 1):
        arguments += rf"\s*,\s*{each}" if place < needed else rf"(?:\s*,\s*{each})?"
    call = rf"\(\s*{arguments}\s*\)"
    return {"pattern": f"^{kind.name}{call if needed else f'(?:{call})?'}$"}


def _across_keys(definitions: Schema) -> None:
    """Add the rules that involve several keys of one checkpoint."""
    rules = [
        {
            "if": {"properties": {mark: {"const": True}}, "required": [mark]},
            "then": {"required": ["approval"]},
        }
        for mark in MARKS
    ]
    back = {
        "if": {"properties": {"rollback": {"const": NO_ROLLBACK}}, "required": ["rollback"]},
        "then": {"required": ["rollback_reason"]},
        "else": {"properties": {"rollback_reason": False}},
    }
    for name, more in (("Checkpoint", []), ("ForwardCheckpoint", [back])):
        found = definitions[name]
        found["required"] = [*found["required"], "opens_when"]
        found["properties"]["opens_when"]["minItems"] = 1
        del found["properties"]["opens_when"]["default"]
        found["dependentRequired"] = {"already": ["step"], "order": ["for_each"]}
        found["allOf"] = [*rules, *more]
    definitions["OwnCondition"]["oneOf"] = [{"required": ["shell"]}, {"required": ["promql"]}]
