"""Redacts models whose fields have words of their own, which a secret may be as well."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from orchestrator.redaction.patterns import names_a_secret
from orchestrator.redaction.redactor import MARK, redacted

_Model = TypeVar("_Model", bound=BaseModel)


def redacted_model(model: _Model, text: Callable[[str], str]) -> _Model:
    """Return the model with every text redacted by `text`, but no name of a field and no literal.

    A password may be `kraftgate` or `broker`: without these words a report is none.
    """
    names = _not_literal(type(model))
    return model.model_copy(update={each: _redacted(getattr(model, each), text) for each in names})


def _redacted(value: Any, text: Callable[[str], str]) -> Any:  # noqa: ANN401  # of any field
    if isinstance(value, BaseModel):
        return redacted_model(value, text)
    if isinstance(value, Mapping):
        return {
            key: MARK if names_a_secret(key) else _redacted(each, text)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_redacted(each, text) for each in value)
    return redacted(value, text)


@cache
def _not_literal(model: type[BaseModel]) -> tuple[str, ...]:
    fields = model.model_fields.items()
    return tuple(name for name, field in fields if not _is_literal(field.annotation))


def _is_literal(annotation: object) -> bool:
    """Whether a field of this type has only texts that its type names."""
    if get_origin(annotation) is Literal:
        return True
    parts = get_args(annotation)
    return any(map(_is_literal, parts)) and str not in parts
