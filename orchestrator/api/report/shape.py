"""The times of the report."""

from pydantic import Field

from orchestrator.api.shape import Moment, Shape


class Span(Shape):
    """A time with a beginning and an end."""

    began_at: Moment | None = Field(description="null: before anything was seen.")
    ended_at: Moment | None = Field(description="null: it lasts still.")
    duration_ms: int | None = Field(
        description="Until its end or, while it lasts, until `as_of`; null: not known."
    )
    exact: bool = Field(
        default=True,
        description="false: when it began or ended was not observed.",
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
