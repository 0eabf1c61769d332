"""The state of every page: each part with the version in which it last changed.

A slow page has no buffer here, only the version that it knows: when it reads again, it gets all
changes since then, merged. So memory is bounded by one state for any number of readers. Nothing
here blocks or is shared between threads: the hub lives in the console's event loop.
"""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from orchestrator.views.console.state.cluster import NULL, ClusterChanges

EVENTS_KEPT: Final = 200
_PARTS: Final = ("head", "sources", "walk", "checkpoints", "waits", "hazards")
_ROWS: Final = ("brokers", "disks")
_LISTS: Final = frozenset(_PARTS) - {"head", "walk"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TickChanges:
    """The changes of one tick, of every cluster.

    Attributes:
        events: new events as JSON, oldest first, by cluster.
        missed: clusters that had more events than these.
        whole: whether this is the full state, not only the changes.
    """

    at_ms: int
    news: Sequence[ClusterChanges]
    events: Mapping[str, Sequence[bytes]]
    missed: frozenset[str] = frozenset()
    whole: bool = False


class _ClusterParts:
    """The parts of one cluster, with their versions."""

    def __init__(self, name: bytes, *, walkable: bool) -> None:
        self._name = name
        self._walkable = b"true" if walkable else b"false"
        self._parts: dict[str, tuple[int, bytes]] = {}
        self._rows: dict[str, dict[int, tuple[int, bytes]]] = {key: {} for key in _ROWS}
        self._gone: dict[str, dict[int, int]] = {key: {} for key in _ROWS}
        self._events: deque[tuple[int, bytes]] = deque()
        self._missed = 0

    def take(self, version: int, news: ClusterChanges, *, whole: bool) -> None:
        """Store the changes; `whole`: rows that are not among them are gone."""
        for key, part in news.parts.items():
            self._parts[key] = (version, part)
        for key, rows in news.rows.items():
            for id_, row in rows.items():
                self._rows[key][id_] = (version, row)
                self._gone[key].pop(id_, None)
        for key in _ROWS:
            left = self._rows[key].keys() - news.rows.get(key, {}).keys() if whole else ()
            for id_ in (*news.gone.get(key, ()), *left):
                self._rows[key].pop(id_, None)
                self._gone[key][id_] = version

    def add(self, version: int, events: Iterable[bytes], *, missed: bool) -> None:
        """Append events; at the limit, the oldest ones are dropped."""
        if missed:
            self._missed = version
            self._events.clear()
        for each in events:
            self._events.append((version, each))
        while len(self._events) > EVENTS_KEPT:
            self._missed = max(self._missed, self._events.popleft()[0])

    def whole(self) -> bytes:
        """Return `ClusterState` as JSON."""
        fields = [b'"name":' + self._name, b'"walkable":' + self._walkable]
        for key in _PARTS:
            _, part = self._parts.get(key, (0, b"[]" if key in _LISTS else NULL))
            fields.append(_field(key, part))
        for key in _ROWS:
            rows = self._rows[key]
            fields.append(_field(key, _list(rows[id_][1] for id_ in sorted(rows))))
        fields.append(_field("events", _list(each for _, each in self._events)))
        return _object(fields)

    def since(self, version: int) -> bytes | None:
        """Return `ClusterChange` since a version as JSON; None: nothing changed."""
        fields = list(chain(self._changed(version), self._new_events(version)))
        return _object([b'"name":' + self._name, *fields]) if fields else None

    def _changed(self, version: int) -> Iterator[bytes]:
        for key, (since, part) in self._parts.items():
            if since > version:
                yield _field(key, part)
        for key in _ROWS:
            rows = self._rows[key]
            changed = [rows[id_][1] for id_ in sorted(rows) if rows[id_][0] > version]
            if changed:
                yield _field(key, _list(changed))
            gone = [id_ for id_, since in self._gone[key].items() if since > version]
            if gone:
                yield _field(f"{key}_gone", _list(str(id_).encode() for id_ in sorted(gone)))

    def _new_events(self, version: int) -> Iterator[bytes]:
        new = [each for since, each in self._events if since > version]
        if new:
            yield _field("events", _list(new))
        if self._missed > version:
            yield b'"events_missed":true'


class TooManyReaders(Exception):
    """The allowed number of pages is open."""


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
        self._sheets = {
            name: _ClusterParts(_text(name), walkable=each) for name, each in walkable.items()
        }
        self._stays = [_field(key, json.dumps(each).encode()) for key, each in stays.items()]
        self._readers_max = readers_max
        self._reserved = reserved
        self._readers = 0
        self._origin = secrets.token_hex(4)
        self._at_ms = 0
        self._changes: dict[int, bytes] = {}
        self._state: bytes | None = None
        self._news = asyncio.Event()
        self.version = 0
        self.looked_ms: int | None = None
        self.closed = False

    def take(self, fresh: TickChanges) -> None:
        """Store a tick's changes and, if there are any, wake the waiting readers."""
        self.looked_ms = fresh.at_ms
        brought = any(not each.is_none for each in fresh.news) or any(fresh.events.values())
        if not brought and self.version:
            return
        self.version += 1
        self._at_ms = fresh.at_ms
        self._state, self._changes = None, {}
        for each in fresh.news:
            self._sheets[each.cluster].take(self.version, each, whole=fresh.whole)
        for name, events in fresh.events.items():
            again = fresh.whole and self.version > 1
            self._sheets[name].add(self.version, events, missed=again or name in fresh.missed)
        self._wake()

    def close(self) -> None:
        """Notify all readers that kraftgate ends."""
        self.closed = True
        self._wake()

    def join(self, *, reserved: bool) -> None:
        """Count a reader; `reserved`: it may use the reserved places.

        Raises:
            TooManyReaders: no place is free.
        """
        if self._readers >= self._readers_max - (0 if reserved else self._reserved):
            raise TooManyReaders
        self._readers += 1

    def leave(self) -> None:
        """Stop counting a reader."""
        self._readers -= 1

    async def news(self, version: int) -> None:
        """Wait for a later version than this one, or for the end."""
        while self.version <= version and not self.closed:
            await self._news.wait()

    def id(self) -> str:
        """Return the id of the current version, unique to this process."""
        return f"{self._origin}-{self.version}"

    def state(self, now_ms: int) -> bytes:
        """Return `State` as JSON; before the first tick without clusters."""
        if self._state is None or not self.version:
            sheets = self._sheets.values() if self.version else ()
            at_ms = self._at_ms if self.version else now_ms
            clusters = _list(each.whole() for each in sheets)
            self._state = _object([_at(at_ms), *self._stays, _field("clusters", clusters)])
        return self._state

    def since(self, version: int) -> bytes:
        """Return `Change` since a version as JSON; computed once for all readers with it."""
        known = self._changes.get(version)
        if known is None:
            changed = [each.since(version) for each in self._sheets.values()]
            clusters = _list(each for each in changed if each is not None)
            known = _object([_at(self._at_ms), _field("clusters", clusters)])
            self._changes[version] = known
        return known

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _at(at_ms: int) -> bytes:
    return _field("at_ms", str(at_ms).encode())


def _text(name: str) -> bytes:
    return f'"{name}"'.encode()  # a cluster's name needs no escape: see orchestrator.config.values


def _field(key: str, value: bytes) -> bytes:
    return f'"{key}":'.encode() + value


def _list(values: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(values) + b"]"


def _object(fields: Iterable[bytes]) -> bytes:
    return b"{" + b",".join(fields) + b"}"
