"""The state of a runbook's execution on which an assessment depends."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The execution of a runbook, as far as an assessment depends on it.

    Attributes:
        at_ms: when the orchestrator recorded it.
        checkpoint: None: the execution has ended.
        outcome: how it ended; None: it is in progress.
        path: the rollback in progress; None: no rollback.
        asks: the decision that an operator must make about its step; None: none.
        violated: descriptions of its conditions that need an operator.
        finalize_is_near: whether the checkpoint that finalizes is in progress or next; None: no
            checkpoint decides it.
    """

    at_ms: int
    checkpoint: str | None
    outcome: str | None = None
    path: str | None = None
    asks: str | None = None
    violated: tuple[str, ...] = ()
    finalize_is_near: bool | None = None
