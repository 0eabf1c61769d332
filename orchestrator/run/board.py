"""The last tick: put there by the loop, read by scrapes."""

from orchestrator.run.assessed import Tick


class Board:
    """Holds the last tick.

    Attributes:
        last: None before the first. A tick never changes, so any thread may read it.
    """

    def __init__(self) -> None:
        self.last: Tick | None = None
