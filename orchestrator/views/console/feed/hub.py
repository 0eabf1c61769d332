"""The state of every page: each part with the version in which it last changed.

A slow page has no buffer here, only the version that it knows: when it reads again, it gets all
changes since then, merged. So memory is bounded by one state for any number of readers. Nothing
here blocks or is shared between threads: the hub lives in the console's event loop.
"""

import asyncio
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from orchestrator.views.console.state.cluster import ClusterParts
from streams.process.clocks import wall_clock_ms

EVENTS_KEPT: Final = 200

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUpdate:
    """One cluster at a tick.

    Attributes:
        events: new events, with their times and as JSON; those of one time in order.
        missed: whether there were more events before these.
    """

    cluster: str
    state: ClusterParts
    events: Sequence[tuple[int, bytes]] = ()
    missed: bool = False


class _Versions(Generic[K]):
    """JSON by key, with the version in which each last changed; None: the key is gone."""

    def __init__(self) -> None:
        self._known: dict[K, tuple[int, bytes | None]] = {}

    def take(self, version: int, found: Mapping[K, bytes]) -> bool:
        """Store what changed as this version; return whether anything did."""
        changed: dict[K, bytes | None] = {
            key: part for key, part in found.items() if self._known.get(key, (0, None))[1] != part
        }
        gone = (key for key, (_, part) in self._known.items() if part is not None)
        changed.update(dict.fromkeys(key for key in gone if key not in found))
        self._known.update({key: (version, part) for key, part in changed.items()})
        return bool(changed)

    def since(self, version: int) -> dict[K, bytes | None]:
        """Return what changed after a version."""
        return {key: part for key, (at, part) in self._known.items() if at > version}


class _Cluster:
    """The parts, rows and events of one cluster, with their versions."""

    def __init__(self, name: str, *, walkable: bool) -> None:
        self._name = name
        self._walkable = walkable
        self._parts: _Versions[str] = _Versions()
        self._rows: dict[str, _Versions[int]] = {"brokers": _Versions(), "disks": _Versions()}
        self._events: list[tuple[int, int, bytes]] = []
        self._missed = 0

    def take(self, version: int, update: ClusterUpdate) -> bool:
        """Store what changed as this version; return whether anything did."""
        changed = [self._parts.take(version, update.state.parts)]
        changed += [each.take(version, update.state.rows[key]) for key, each in self._rows.items()]
        if update.events and update.missed:
            self._missed = version
            self._events.clear()
        self._events += ((at_ms, version, each) for at_ms, each in update.events)
        # Sources report events with different delays: sort by the cluster's time.
        self._events.sort(key=lambda each: each[0])
        dropped = self._events[:-EVENTS_KEPT]
        self._missed = max([self._missed, *(at for _, at, _ in dropped)])
        del self._events[:-EVENTS_KEPT]
        return any(changed) or bool(update.events)

    def since(self, version: int) -> bytes | None:
        """Return `ClusterChange` since a version, or `ClusterState` for 0; None: no change."""
        fields = [*self._fields(version)]
        if not version:
            fields.insert(0, _field("walkable", _json(self._walkable)))
        return _object(_field("name", _json(self._name)), *fields) if fields else None

    def _fields(self, version: int) -> Iterator[bytes]:
        """Yield the fields that changed; for version 0 also empty lists."""
        for key, part in self._parts.since(version).items():
            if part is not None:
                yield _field(key, part)
        for key, each in self._rows.items():
            rows = sorted(each.since(version).items(), key=lambda row: row[0])
            changed = [row for _, row in rows if row is not None]
            if changed or not version:
                yield _field(key, _list(changed))
            gone = [id_ for id_, row in rows if row is None]
            if gone and version:
                yield _field(f"{key}_gone", _json(gone))
        missed = self._missed > version
        events = [each for _, at, each in self._events if missed or at > version]
        if events or not version:
            yield _field("events", _list(events))
        if version and missed:
            yield _field("events_missed", b"true")


class Hub:
    """The versioned state of all clusters.

    Attributes:
        version: 0 before the first tick; each tick with a change increments it.
        looked_ms: the time of the last tick.
        closed: whether kraftgate is ending.
    """

    def __init__(
        self,
        walkable: Mapping[str, bool],
        stays: Mapping[str, str | int],
        readers_max: int,
        reserved: int,
    ) -> None:
        """Start with no state.

        Args:
            walkable: the clusters in their order, and whether a runbook is configured.
            stays: the constant fields of `State`.
            readers_max: the most pages that may be open.
            reserved: the number of these for readers that have sent the token.
        """
        self._clusters = {name: _Cluster(name, walkable=each) for name, each in walkable.items()}
        self._stays = [_field(key, _json(each)) for key, each in stays.items()]
        self._readers_max = readers_max
        self._reserved = reserved
        self._readers = 0
        self._origin = secrets.token_hex(4)
        self._at_ms = 0
        self._made: dict[int, bytes] = {}
        self._news = asyncio.Event()
        self.version = 0
        self.looked_ms: int | None = None
        self.closed = False

    def take(self, at_ms: int, updates: Iterable[ClusterUpdate]) -> None:
        """Store a tick and, if it changed anything, wake the waiting readers."""
        self.looked_ms = at_ms
        version = self.version + 1
        changed = [self._clusters[each.cluster].take(version, each) for each in updates]
        if any(changed) or not self.version:
            self.version, self._at_ms = version, at_ms
            self._made = {}
            self._wake()

    def close(self) -> None:
        """Notify all readers that kraftgate ends."""
        self.closed = True
        self._wake()

    def join(self, *, reserved: bool) -> bool:
        """Count a reader if a place is free; `reserved`: it may use the reserved places."""
        free = self._readers < self._readers_max - (0 if reserved else self._reserved)
        self._readers += free
        return free

    def leave(self) -> None:
        self._readers -= 1

    async def news(self, version: int) -> None:
        """Wait for a later version than this one, or for the end."""
        while self.version <= version and not self.closed:
            await self._news.wait()

    def id(self) -> str:
        """Return the id of the current version, unique to this process."""
        return f"{self._origin}-{self.version}"

    def since(self, version: int) -> bytes:
        """Return `Change` since a version as JSON, or `State` for 0; before the first tick empty.

        It is made once for all readers.
        """
        if not self.version:
            return self._object(wall_clock_ms(), self._stays, ())
        if version not in self._made:
            changed = (each.since(version) for each in self._clusters.values())
            clusters = (each for each in changed if each is not None)
            stays = () if version else self._stays
            self._made[version] = self._object(self._at_ms, stays, clusters)
        return self._made[version]

    @staticmethod
    def _object(at_ms: int, stays: Iterable[bytes], clusters: Iterable[bytes]) -> bytes:
        return _object(_field("at_ms", _json(at_ms)), *stays, _field("clusters", _list(clusters)))

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _field(key: str, value: bytes) -> bytes:
    return f'"{key}":'.encode() + value


def _list(values: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(values) + b"]"


def _object(*fields: bytes) -> bytes:
    return b"{" + b",".join(fields) + b"}"
