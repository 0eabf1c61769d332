"""The parameters of requests: checked and bounded by their types, and rejected with the reason."""

from collections.abc import Mapping
from typing import Annotated, Final, Self, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from orchestrator.views.console.access.refusals import Refused

NUMBER_MAX: Final = 2**62
"""Within the limits of SQLite."""
LIMIT_MAX: Final = 1000
_DIGITS_MAX: Final = 20
"""Includes a sign; Python does not parse more than 4300 digits."""

Number = Annotated[int, Field(ge=0, le=NUMBER_MAX)]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]
Text = Annotated[str, Field(max_length=400)]


class Query(BaseModel):
    """The parameters of one route; others are ignored, and of a repeated one the last counts."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, request: Request) -> Self:
        """Return the parameters of a request, from its path and its query.

        Raises:
            Refused: one is not valid.
        """
        given: dict[str, object] = dict(request.path_params)
        for key, field in cls.model_fields.items():
            values = request.query_params.getlist(key)
            if values and key not in given:
                given[key] = values if get_origin(field.annotation) is frozenset else values[-1]
        return checked(cls, given)


T = TypeVar("T", bound=BaseModel)


def checked(model: type[T], given: Mapping[str, object] | bytes) -> T:
    """Return the model of an input, or of JSON.

    Raises:
        Refused: it is not valid.
    """
    try:
        if isinstance(given, bytes):
            return model.model_validate_json(given)
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        is_cursor = first["type"] == "value_error"
        why = "take what a page returned as `next`" if is_cursor else first["msg"]
        raise Refused(400, "bad_request", f"{where}: {why}") from None


def bounded(text: str) -> int:
    """Return the number in a part of a cursor.

    Raises:
        ValueError: the text is not a number, or is beyond 2**62.
    """
    if len(text) > _DIGITS_MAX or abs(number := int(text)) > NUMBER_MAX:
        raise ValueError(f"a number beyond 2**62: {text[:_DIGITS_MAX]}")
    return number
