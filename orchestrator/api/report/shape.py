"""The times of the report."""

from typing import Self

from pydantic import Field

from orchestrator.api.shape import Moment, Shape


def elapsed(began_ms: int, ended_ms: int) -> int | None:
    """Return the duration; None: the end is before the beginning, by clocks that differ."""
    return ended_ms - began_ms if ended_ms >= began_ms else None


class Span(Shape):
    """A time with a beginning and an end."""

    began_at: Moment | None = Field(description="null: it began before the first known fact.")
    ended_at: Moment | None = Field(
        description="null: it has not ended, or that is unknown: then `began_at` is known, and"
        " `duration_ms` is null."
    )
    duration_ms: int | None = Field(
        description="Until its end or, if it has not ended, until `as_of`; null: unknown."
    )
    exact: bool = Field(
        default=True,
        description="false: its beginning or its end was not observed.",
    )

    @classmethod
    def lasting(
        cls,
        began_ms: int | None,
        ended_ms: int | None,
        as_of_ms: int,
        *,
        facts: object = None,
        **others: object,
    ) -> Self:
        """Return a span with these fields, and those that `facts` has."""
        until_ms = as_of_ms if ended_ms is None else ended_ms
        duration_ms = None if began_ms is None else elapsed(began_ms, until_ms)
        times = {"began_at": began_ms, "ended_at": ended_ms, "duration_ms": duration_ms}
        return cls.from_facts(facts, **times, **others)

    @property
    def is_end_unknown(self) -> bool:
        """Whether it is unknown if and when it ended."""
        return self.ended_at is None and self.duration_ms is None and self.began_at is not None

    def with_unknown_end(self) -> Self:
        """Return it with an unknown end, unless it has ended."""
        if self.ended_at is not None:
            return self
        return self.model_copy(update={"duration_ms": None, "exact": False})

    def cut(self, began_ms: int | None, ended_ms: int | None, as_of_ms: int) -> Self:
        """Return it with another beginning and end."""
        of = Span.lasting(began_ms, ended_ms, as_of_ms, exact=self.exact)
        return self.model_copy(update=of.model_dump())
