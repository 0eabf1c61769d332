"""The last tick: the loop sets it, scrapes read it."""

from orchestrator.run.assessed import Tick


class Board:
    """Holds the last tick.

    Attributes:
        last: None before the first tick. A tick is immutable, so any thread may read it.
    """

    def __init__(self) -> None:
        self.last: Tick | None = None
