"""The arithmetic of sequential znodes: how many were ever created, and which were never read.

ZooKeeper names a sequential znode by its parent's count of creations so far, ten digits long
(PrepRequestProcessor.pRequest2TxnCreate: `String.format("%010d", parentCVersion)`), and counts
every creation, sequential or not (DataTree.createNode). The `cversion` that it returns is another
number, from which the count can be computed exactly: DataNode.copyStat sets it to
`2 * creations - numChildren`, that is, creations plus deletions.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from migration.observed.znodes import NOTIFICATIONS, parent

_NAME: Final = re.compile(r"log_dir_event_([0-9]{10})")


class Run(NamedTuple):
    """Successive sequence numbers that were all read, or all not read.

    Attributes:
        first: The first number.
        number: Their count; at least 1.
        read: Whether their znodes were read.
    """

    first: int
    number: int
    read: bool


def creations(cversion: int, children: int) -> int:
    """Return how many children were ever created, which is the next sequence number."""
    return (cversion + children) // 2


def notification_number(path: str) -> int | None:
    """Return a notification's sequence number, or None for any other path."""
    if parent(path) != NOTIFICATIONS:
        return None
    match = _NAME.fullmatch(path.rpartition("/")[2])
    return int(match[1]) if match else None


def notification_path(number: int) -> str:
    return f"{NOTIFICATIONS}/log_dir_event_{number:010d}"


def runs(first: int, end: int, read: Iterable[int]) -> Iterator[Run]:
    """Yield the runs of the numbers from `first` up to `end`, exclusive, in order."""
    at = first
    for number in sorted({number for number in read if first <= number < end}):
        if number > at:
            yield Run(at, number - at, read=False)
        yield Run(number, 1, read=True)
        at = number + 1
    if at < end:
        yield Run(at, end - at, read=False)
