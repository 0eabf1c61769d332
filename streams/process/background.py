"""The base class of objects that run threads of their own from `start` to `stop`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class BackgroundThreads(ABC):
    """A context manager that starts its threads on entry and stops them on exit."""

    @abstractmethod
    def start(self) -> Self:
        """Start the threads; return the object itself."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the threads."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
