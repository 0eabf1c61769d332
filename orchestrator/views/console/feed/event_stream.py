"""The server-sent events: the state, then its changes, with a beat in between.

The frames are the same bytes for all readers that have the same version. A reader gets the next
frame when it has taken the last one, so that a slow reader skips intermediate versions.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import Final

import anyio
from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from orchestrator.api.console.answers import Beat
from orchestrator.views.console.access.refusals import Refused
from orchestrator.views.console.feed.hub import Hub
from streams.process.clocks import wall_clock_ms

BEAT_S: Final = 5.0
_CHUNK: Final = 64 * 1024
"""The most bytes passed to the connection at once: its buffer for one reader stays bounded."""


class EventStream(EventSourceResponse):
    """The event stream of one reader, which occupies a place only while the response is sent.

    A HEAD request, or a client that disconnects before the first byte, runs no body: if only the
    body released the place, it would be lost.

    Args:
        reserved: The reader has sent the token, so it may use the reserved places.
        may_go_on: Whether the reader may have another frame; a replaced token ends the response.
    """

    def __init__(self, hub: Hub, *, reserved: bool, may_go_on: Callable[[], bool]) -> None:
        super().__init__(_chunks(hub, may_go_on), ping=0)
        self._hub = hub
        self._reserved = reserved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response.

        Raises:
            Refused: the allowed number of readers is connected.
        """
        if not self._hub.join(reserved=self._reserved):
            fix = "close some of the pages that show this console, or enter the token"
            raise Refused(503, "too_many", "too many pages are open", fix)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave()


async def _chunks(hub: Hub, may_go_on: Callable[[], bool]) -> AsyncIterator[bytes]:
    async for frame in _frames(hub, may_go_on):
        for start in range(0, len(frame), _CHUNK):
            yield frame[start : start + _CHUNK]


async def _frames(hub: Hub, may_go_on: Callable[[], bool]) -> AsyncIterator[bytes]:
    known = hub.version
    yield _frame("state", hub.since(0), hub.id())
    beat_s = anyio.current_time()  # at once: the state has the time of its last change
    while not hub.closed:
        with anyio.move_on_at(beat_s):
            await hub.news(known)
        if not may_go_on():
            return  # without an end: the page connects again, and asks for the token
        if hub.version > known:
            since, known = known, hub.version
            yield _frame("change" if since else "state", hub.since(since), hub.id())
        if anyio.current_time() >= beat_s:
            beat_s = anyio.current_time() + BEAT_S
            yield _frame("beat", _beat(hub))
    yield _frame("end", _beat(hub), hub.id())


def _beat(hub: Hub) -> bytes:
    return json.dumps(Beat(at_ms=wall_clock_ms(), looked_ms=hub.looked_ms).model_dump()).encode()


def _frame(event: str, data: bytes, id_: str | None = None) -> bytes:
    """Return a frame in the format of server-sent events; the JSON contains no line breaks."""
    head = f"event: {event}\n" + (f"id: {id_}\n" if id_ else "")
    return head.encode() + b"data: " + data + b"\n\n"
