"""The server-sent events: a state, then what changes, and a beat in between.

The frames are the same bytes for all readers that know up to the same version. A reader is given
the next frame when it has taken the last one, so that a slow one skips what it would have to read
twice.
"""

import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

import anyio
from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from orchestrator.api.console.answers import Beat
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.feed.hub import Hub, TooMany

BEAT_S: Final = 5.0
_CHUNK: Final = 64 * 1024
"""So much is handed to the connection at once: what it holds of one reader stays bounded."""


class EventStream(EventSourceResponse):
    """The event stream of one reader; its place is taken while the answer is sent, and no longer.

    A HEAD request, or a client that is gone before the first byte, runs no body: a place that only
    the body gave back would be lost.

    Args:
        reserved: The reader has shown the token, so places are kept for it.
    """

    def __init__(self, hub: Hub, *, reserved: bool) -> None:
        super().__init__(_chunks(hub), ping=0)
        self._hub = hub
        self._reserved = reserved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer.

        Raises:
            Refused: as many readers as allowed are connected.
        """
        try:
            self._hub.join(reserved=self._reserved)
        except TooMany:
            fix = "close some of the pages that show this console, or enter the token"
            raise Refused(503, "too_many", "too many pages are open", fix) from None
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave()


async def _chunks(hub: Hub) -> AsyncIterator[bytes]:
    async for frame in _frames(hub):
        for each in _cut(frame):
            yield each


async def _frames(hub: Hub) -> AsyncIterator[bytes]:
    known = hub.version
    yield _frame("state", hub.state(now_ms()), hub.id())
    beat_s = anyio.current_time() + BEAT_S
    while not hub.closed:
        with anyio.move_on_at(beat_s):
            await hub.news(known)
        if hub.version > known:
            first, since, known = not known, known, hub.version
            whole = hub.state(now_ms()) if first else hub.since(since)
            yield _frame("state" if first else "change", whole, hub.id())
        if anyio.current_time() >= beat_s:
            beat_s = anyio.current_time() + BEAT_S
            yield _frame("beat", _beat(hub))
    yield _frame("end", _beat(hub), hub.id())


def _beat(hub: Hub) -> bytes:
    return Beat(at_ms=now_ms(), looked_ms=hub.looked_ms).model_dump_json().encode()


def _frame(event: str, data: bytes, id_: str | None = None) -> bytes:
    """As the standard has it; JSON has no line ends of its own."""
    head = f"event: {event}\n" + (f"id: {id_}\n" if id_ else "")
    return head.encode() + b"data: " + data + b"\n\n"


def _cut(frame: bytes) -> Iterator[bytes]:
    for start in range(0, len(frame), _CHUNK):
        yield frame[start : start + _CHUNK]


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000
