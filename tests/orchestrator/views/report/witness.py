"""What became of every registration, by watching the oracle's state after each record.

Nothing of the product is in it: Kafka's own kafka-dump-log reads the log, the oracle applies its
records, and here a state that is seen to have changed ends one span and begins the next.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.oracle.dump import Record, read_dump
from tests.oracle.projection import MIGRATING, UNASSIGNED, Json, _Cluster

Span = tuple[int, int | None]
Replica = tuple[str, int]
PENDING: Final = (MIGRATING, UNASSIGNED)


@dataclass
class Witnessed:
    """One registration: times in ms, as the records have them; None: it lasts."""

    broker: int
    registered_offset: int
    registered_ms: int
    mode: str
    held: list[Span] = field(default_factory=list)
    fenced: list[Span] = field(default_factory=list)
    exposed: list[Span] = field(default_factory=list)
    assigned: int = 0
    completed_offset: int | None = None


class _Watched(_Cluster):
    """The oracle, looked at after each record that it applies.

    A record of a transaction counts from when it was written, as the product reports it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Witnessed] = []
        self._seen: dict[int, Witnessed] = {}
        self._pending: dict[int, set[Replica]] = {}

    def apply(self, record: Record) -> None:
        super().apply(record)
        after = {id_: set(_pending(self, id_)) for id_ in self.brokers}
        for id_, broker in self.brokers.items():
            known = self._of(id_, broker, record)
            now = _states(broker, pending=bool(after[id_]))
            _sample(known, now, record.timestamp_ms)
            settled = self._pending.get(id_, set()) - after[id_]
            known.assigned += sum(_is_there(self, each, id_) for each in settled)
            known.completed_offset = broker["assignments_complete_offset"]
        for id_ in self._seen.keys() - self.brokers.keys():
            _sample(self._seen.pop(id_), {}, record.timestamp_ms)
        self._pending = after

    def _of(self, id_: int, broker: Json, record: Record) -> Witnessed:
        known = self._seen.get(id_)
        if known is not None and known.registered_offset == broker["registered_offset"]:
            return known
        if known is not None:
            _sample(known, {}, record.timestamp_ms)
        new = Witnessed(id_, record.offset, record.timestamp_ms, broker["mode"])
        self._seen[id_] = new
        self.found.append(new)
        return new


def witnessed(dumps: Iterable[str]) -> list[Witnessed]:
    """Watch the segments of a log that begins at offset 0, in order."""
    cluster = _Watched()
    for dump in dumps:
        for batch in read_dump(dump):
            for record in batch.records:
                cluster.read(record)
    return cluster.found


def _states(broker: Json, *, pending: bool) -> dict[str, bool]:
    held = broker["held"] and pending
    return {
        "held": held,
        "fenced": broker["fenced"],
        "exposed": held and not broker["fenced"],
    }


def _sample(known: Witnessed, now: dict[str, bool], at_ms: int) -> None:
    for name in ("held", "fenced", "exposed"):
        spans: list[Span] = getattr(known, name)
        lasts = bool(spans) and spans[-1][1] is None
        if now.get(name, False) and not lasts:
            spans.append((at_ms, None))
        elif lasts and not now.get(name, False):
            spans[-1] = (spans[-1][0], at_ms)


def _pending(cluster: _Cluster, broker: int) -> Iterator[Replica]:
    for key, partition in cluster.partitions.items():
        for replica, directory in zip(partition["replicas"], partition["directories"], strict=True):
            if replica == broker and directory in PENDING:
                yield key


def _is_there(cluster: _Cluster, key: Replica, broker: int) -> bool:
    partition = cluster.partitions.get(key)
    return partition is not None and broker in partition["replicas"]
