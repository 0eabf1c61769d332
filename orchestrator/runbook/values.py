"""The value types of a runbook: ids, texts, templates, conditions as text."""

import re
from typing import Annotated, Final, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema

from orchestrator.config.values import Duration as _Duration
from orchestrator.config.values import text_matching

ID_PATTERN: Final = "[a-z][a-z0-9]*(-[a-z0-9]+)*"
URL_PATTERN: Final = r"https?://[^\s/?#]+\S*"
CONDITION_FORMAT: Final = "kraftgate-condition"
"""Marks a condition in pydantic's schema; `orchestrator.runbook.schema` replaces it."""
_ID_MAX: Final = 64
_VARIABLE_PATTERN: Final = "[A-Za-z_][A-Za-z0-9_]*"


T = TypeVar("T")


def _given(value: object) -> object:
    if value is None:
        raise ValueError("is empty: write a value, or remove the key")
    return value


def _text(value: object) -> str:
    if value == "" or (isinstance(value, str) and value.isspace()):
        raise ValueError("must not be empty")
    if isinstance(value, str):
        return value
    fix = "" if isinstance(value, (dict, list)) or value is None else ": put it in quotes"
    raise ValueError(f"must be text, not {type(value).__name__}{fix}")


_id: Final = text_matching(
    re.compile(rf"(?=.{{1,{_ID_MAX}}}\Z){ID_PATTERN}"),
    "enter-kraft",
    f"is not an id: up to {_ID_MAX} small letters and digits, words joined by '-'",
)
_variable: Final = text_matching(
    re.compile(_VARIABLE_PATTERN), "PATH", "cannot name an environment variable"
)
_url: Final = text_matching(
    re.compile(URL_PATTERN),
    "http://prometheus:9090",
    "is not an address: write it like http://prometheus:9090",
)

Given: TypeAlias = Annotated[T | None, BeforeValidator(_given)]
"""A key that may be absent (None). An empty value is rejected: `approval:` must not mean none."""
Id: TypeAlias = Annotated[
    str,
    BeforeValidator(_id),
    WithJsonSchema({"type": "string", "pattern": f"^{ID_PATTERN}$", "maxLength": _ID_MAX}),
]
Text: TypeAlias = Annotated[
    str, BeforeValidator(_text), WithJsonSchema({"type": "string", "pattern": r"\S"})
]
Url: TypeAlias = Annotated[
    str, BeforeValidator(_url), WithJsonSchema({"type": "string", "pattern": f"^{URL_PATTERN}$"})
]
ConditionText: TypeAlias = Annotated[
    str,
    BeforeValidator(_text),
    WithJsonSchema({"type": "string", "format": CONDITION_FORMAT}),
]
"""A condition, or the name of a user's own; `orchestrator.runbook.checks.check` parses it."""
Duration: TypeAlias = Annotated[
    _Duration,
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^([0-9.]+(ms|[dhms]))+$|^P",
            "examples": ["90s", "5m", "1h30m"],
        }
    ),
]
Conditions: TypeAlias = Annotated[tuple[ConditionText, ...], Field(strict=False)]
Ids: TypeAlias = Annotated[tuple[Id, ...], Field(strict=False)]
Argv: TypeAlias = Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]
Variable: TypeAlias = Annotated[
    str,
    BeforeValidator(_variable),
    WithJsonSchema({"type": "string", "pattern": f"^{_VARIABLE_PATTERN}$"}),
]
Variables: TypeAlias = Annotated[tuple[Variable, ...], Field(strict=False)]
