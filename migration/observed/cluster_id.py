"""Whether all sources name the same cluster id."""

from collections.abc import Iterable
from typing import NamedTuple


class Named(NamedTuple):
    """A cluster id, and where it comes from, in words."""

    where: str
    id: str


def disagreement(named: Iterable[Named]) -> str | None:
    """Say which ids differ, and where each comes from; None: all are the same."""
    found = list(named)
    if len({each.id for each in found}) < 2:
        return None
    return "several cluster ids: " + ", ".join(f"{each.where}: {each.id}" for each in found)
