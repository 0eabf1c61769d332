"""Checks that all sources report the same cluster id."""

from collections.abc import Iterable
from typing import NamedTuple


class Named(NamedTuple):
    """A cluster id, and a description of its source."""

    where: str
    id: str


def disagreement(named: Iterable[Named]) -> str | None:
    """Return the different ids and the source of each; None: all are the same."""
    found = list(named)
    if len({each.id for each in found}) < 2:
        return None
    return "several cluster ids: " + ", ".join(f"{each.where}: {each.id}" for each in found)
