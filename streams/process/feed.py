"""What observes a source and stores it durably, in this process or in another one."""

from collections.abc import Mapping
from typing import TypeAlias

Offset: TypeAlias = dict[str, int]
"""A position in what a source stored: a JSON object."""


class Feed:
    """A feed that provides no new data: what is stored can still be read."""

    def end(self) -> Offset | None:
        """Return the end of the readable data; None: all that is stored can be read."""
        return None

    def retain(self, done: Mapping[str, int]) -> None:
        """Allow the feed to delete data before `done`: Spark has committed it."""

    def note_damage(self, damage: str) -> None:
        """Report that what is stored cannot be read further."""

    def stop(self) -> None:
        """Stop all threads and close all files."""
