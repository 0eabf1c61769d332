"""A cluster's id as ZooKeeper has it, and whether all sources speak of one cluster."""

from collections.abc import Iterable
from typing import NamedTuple

from migration.values.foreign import Unreadable, load_object


class Named(NamedTuple):
    """A cluster id, and where it comes from, in words."""

    where: str
    id: str


def in_znode(data: bytes | None) -> str | None:
    """Return the id in the data of /cluster/id; None: there is none that can be read."""
    try:
        id_ = load_object(data or b"").get("id")
    except Unreadable:
        return None
    return id_ if isinstance(id_, str) and id_ else None


def disagreement(named: Iterable[Named]) -> str | None:
    """Say which ids differ, and where each comes from; None: all are the same."""
    found = list(named)
    if len({each.id for each in found}) < 2:
        return None
    return "several cluster ids: " + ", ".join(f"{each.where}: {each.id}" for each in found)
