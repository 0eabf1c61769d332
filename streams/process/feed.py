"""Feeds: each observes a source and stores its data durably, in this process or another one."""

from collections.abc import Mapping
from typing import TypeAlias

Offset: TypeAlias = dict[str, int]
"""A position in a source's stored data: a JSON object."""


class Feed:
    """A feed without new data: the stored data can still be read."""

    def end(self) -> Offset | None:
        """Return the end of the readable data; None: all stored data can be read."""
        return None

    def retain(self, done: Mapping[str, int]) -> None:
        """Allow the feed to delete data before `done`: Spark has committed it."""

    def note_damage(self, damage: str) -> None:
        """Report that the stored data cannot be read further."""

    def stop(self) -> None:
        """Stop all threads and close all files."""
