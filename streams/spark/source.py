"""One source of one cluster, as the job (`streams.spark.data_source`) uses it.

One thread of one process calls all methods except `read`, which runs on an executor with another
object.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streams.process.feed import Feed, Offset

if TYPE_CHECKING:
    from streams.spark.rows import Row


class Source(ABC):
    """One source of one cluster.

    Attributes:
        format: its name in the checkpoint and in file names.
        urgent: whether a batch with its news is not delayed for other sources.
    """

    format: ClassVar[str]
    urgent: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, str], feed: Callable[[], Feed]) -> None:
        """Prepare the source; open nothing. `feed` opens its feed, here or in another process."""
        self._state = Path(options["state"])
        self._open_feed = feed
        self._feed: Feed | None = None

    @classmethod
    @abstractmethod
    def open_feed(cls, options: Mapping[str, str], ring: Callable[[], None]) -> Feed:
        """Start observing the source that the options describe.

        `ring`: the feed's threads call it when there is something new. It does not block.
        """

    @classmethod
    @abstractmethod
    def status_file(cls, state: Path) -> Path:
        """Return the file with the source's status; `state`: the directory of the cluster."""

    @abstractmethod
    def initial(self) -> Offset:
        """Return the start of a new query."""

    @abstractmethod
    def latest(self, start: Mapping[str, int], *, along: bool = False) -> Offset:
        """Return the end of the next batch, without waiting; `start`: there is nothing new.

        `along`: another source of the cluster has a batch, which also takes data that does not
        justify its own.
        """

    @abstractmethod
    def has_more(self, start: Mapping[str, int], end: Mapping[str, int]) -> bool:
        """Return whether a batch from `start` to `end` is full, so that more may follow it."""

    @abstractmethod
    def plan(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[Any]:
        """Return the data between two offsets as picklable parts; the same parts after a crash."""

    @abstractmethod
    def size(self, part: Any) -> int:  # noqa: ANN401
        """Return the approximate size of a part in bytes."""

    @abstractmethod
    def read(self, part: Any) -> "Iterator[Row]":  # noqa: ANN401
        """Yield the rows of a part."""

    @abstractmethod
    def commit(self, end: Mapping[str, int]) -> None:
        """Release everything before `end`, which has been processed."""

    def note_damage(self, damage: str) -> None:
        """Report in the source's status that it cannot be read on."""
        from streams.state.source_status import note_damage

        if self._feed is None:
            note_damage(self.status_file(self._state), damage)
        else:
            self._feed.note_damage(damage)

    def stop(self) -> None:
        if self._feed is not None:
            self._feed.stop()


class FeedDamaged(Exception):
    """The stored data of a feed in another process is damaged, as the feed's status shows."""


def damages() -> tuple[type[Exception], ...]:
    """Return the errors in one source's stored data, which leave other sources readable."""
    from streams.kafka.errors import WrongCluster
    from streams.metadata.errors import SpoolDamaged
    from streams.metadata.plan import LogGap
    from streams.state.journal import JournalError

    return FeedDamaged, JournalError, LogGap, SpoolDamaged, WrongCluster
