"""The published JSON Schema (2020-12) of a runbook, with which an editor completes and checks it.

It is made from the models and the conditions' own signatures. Rules for the whole file (unknown
ids, cycles, phases) are not in it: `kraftgate runbook check` checks them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from migration.assessment.conditions import known
from migration.assessment.hazards import HazardKind
from migration.image.summary import Phase
from orchestrator.runbook.checks.final import MARKS
from orchestrator.runbook.hooks_file import HooksFile
from orchestrator.runbook.model import NO_ROLLBACK, Runbook
from orchestrator.runbook.values import CONDITION_FORMAT, ID_PATTERN

Schema: TypeAlias = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NULL: Final = {"type": "null"}
_ID: Final = "urn:kraftgate:runbook:1"
_HOOKS_ID: Final = "urn:kraftgate:hooks:1"
_NODE_ID: Final = "[0-9]{1,10}"
_VALUES: Final = {
    "broker": f"(?:broker|{_NODE_ID})",
    "controller": f"(?:controller|{_NODE_ID})",
    "N": "[0-9]{1,19}",
    "MAX": "[0-9]{1,19}",
    "PHASE": "(?:" + "|".join(Phase) + ")",
    "HAZARD": "(?:" + "|".join(HazardKind) + ")",
    "version": r"[0-9]+\.[0-9]+(?:-IV[0-9]+)?",
    "duration": r"(?:(?:[0-9]+(?:\.[0-9]+)?(?:ms|[dhms]))+|PT?[0-9][0-9A-Z.]*)",
}
_SIGNATURE: Final = re.compile(
    r"(?P<name>\w+)(?:(?P<may>\[)?\((?P<needed>[^\[\]()]*)(?P<more>(?:\[, [^\[\]]*\])*)\)\]?)?"
)
_MORE: Final = re.compile(r"\[, ([^\[\]]*)\]")


def schema() -> Schema:
    refs, made = models_json_schema([(Runbook, "validation")], schema_generator=Plain)
    root: Schema = refs[(Runbook, "validation")]
    definitions: Schema = _settled(made["$defs"])
    definitions["Condition"] = _condition()
    _across_keys(definitions)
    return {
        "$schema": _DIALECT,
        "$id": _ID,
        "title": "Kraftgate runbook",
        "description": "Checkpoints that only the cluster's own state can open, and rollbacks.",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def hooks_schema() -> Schema:
    refs, made = models_json_schema([(HooksFile, "validation")], schema_generator=Plain)
    definitions: Schema = _settled(made["$defs"])
    steps = definitions["HooksFile"]["properties"]["steps"]
    steps["propertyNames"] = {"pattern": f"^{ID_PATTERN}$"}  # pydantic leaves out what keys must be
    return {
        "$schema": _DIALECT,
        "$id": _HOOKS_ID,
        "title": "Kraftgate hooks",
        "description": "The commands that perform the steps of a runbook.",
        **refs[(HooksFile, "validation")],
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text(*, of_hooks: bool = False) -> str:
    """Return the schema of runbooks, or of files of hooks, as it is published."""
    return json.dumps(hooks_schema() if of_hooks else schema(), indent=2) + "\n"


class Plain(GenerateJsonSchema):
    """Omits the titles that pydantic makes of names, because they only repeat the names."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  # pydantic's
        """Return False: no field gets a title."""
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
        yield {"title": each.signature, "description": each.explains, **pattern_of(each.signature)}
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


def pattern_of(signature: str) -> dict[str, Any]:
    """Return the part of the schema that accepts the conditions of one kind.

    Raises:
        ValueError: the text is not a signature.
    """
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"{signature!r} is no signature of a condition")
    name, needed = match["name"], match["needed"]
    if needed is None:
        return {"const": name}
    arguments = r"\s*,\s*".join(_value(word) for word in needed.split(", "))
    for word in _MORE.findall(match["more"]):
        arguments += rf"(?:\s*,\s*{_value(word)})?"
    call = rf"\(\s*{arguments}\s*\)"
    return {"pattern": f"^{name}{f'(?:{call})?' if match['may'] else call}$"}


def _value(words: str) -> str:
    parts = [_VALUES.get(word, re.escape(word).replace(r"\-", "-")) for word in words.split("|")]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


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
