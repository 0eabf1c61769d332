"""A journal in memory that a test can wait on."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from migration.observed.facts import Observation
from tests.support.polling import PATIENCE_S

T = TypeVar("T", bound=Observation)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Facts:
    """What was appended, in order."""

    def __init__(self) -> None:
        self._told: list[Observation] = []
        self._news = threading.Condition()

    def append(self, facts: Sequence[Observation]) -> int:
        with self._news:
            self._told += facts
            self._news.notify_all()
            return len(self._told)

    def all(self) -> list[Observation]:
        with self._news:
            return list(self._told)

    def of(self, kind: type[T], after: int = 0) -> list[T]:
        return [each for each in self.all()[after:] if isinstance(each, kind)]

    def __len__(self) -> int:
        return len(self.all())

    def wait(self, kind: type[T], holds: Callable[[T], bool], after: int = 0) -> T:
        """The first fact of that kind, among those after `after`, of which it holds."""

        def found() -> list[T]:
            return [e for e in self._told[after:] if isinstance(e, kind) and holds(e)]

        with self._news:
            assert self._news.wait_for(lambda: bool(found()), PATIENCE_S), self._told[after:]
            return found()[0]
