"""What every object of the report has in common, and its times."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from migration.values.timestamps import iso

Moment: TypeAlias = Annotated[
    int,
    PlainSerializer(iso, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""ms since the epoch here; ISO 8601 in UTC with milliseconds in JSON."""


class Shape(BaseModel):
    """A JSON object; every key is there."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Span(Shape):
    """A time with a beginning and an end."""

    began_at: Moment | None = Field(description="null: before anything was seen.")
    ended_at: Moment | None = Field(description="null: it lasts still.")
    duration_ms: int | None = Field(
        description="Until its end or, while it lasts, until `as_of`; null: not known."
    )
    exact: bool = Field(
        default=True,
        description="false: what began or ended it was not seen, only that it had.",
    )


def span(began_ms: int | None, ended_ms: int | None, as_of_ms: int, *, exact: bool = True) -> Span:
    """Make one; never of negative length, whatever the clocks of two nodes say."""
    until_ms = as_of_ms if ended_ms is None else ended_ms
    return Span(
        began_at=began_ms,
        ended_at=ended_ms,
        duration_ms=None if began_ms is None else max(0, until_ms - began_ms),
        exact=exact,
    )
