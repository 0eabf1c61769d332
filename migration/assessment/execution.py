"""What an assessment depends on of the execution of a runbook."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The execution of a runbook, as far as an assessment depends on it.

    Attributes:
        at_ms: when the orchestrator recorded it.
        checkpoint: None: it has ended.
        outcome: how it ended; None: it goes on.
        path: the rollback that is taken; None: the way ahead.
        asks: what an operator must decide about its step; None: nothing.
        violated: its conditions that do not come to hold without an operator, in words.
        finalize_is_near: whether the checkpoint that finalizes is under way or next; None: no
            checkpoint says so.
    """

    at_ms: int
    checkpoint: str | None
    outcome: str | None = None
    path: str | None = None
    asks: str | None = None
    violated: tuple[str, ...] = ()
    finalize_is_near: bool | None = None
