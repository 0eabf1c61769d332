"""What runs in threads of its own from `start` to `stop`, as a context manager."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Running(ABC):
    """Started on entry, stopped at the end."""

    @abstractmethod
    def start(self) -> Self:
        """Begin."""

    @abstractmethod
    def stop(self) -> None:
        """End the threads."""

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()
