"""The stream: everything first, then only what changed, and an end that comes at once."""

import asyncio
import errno
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from orchestrator.process import http_server
from orchestrator.views.console.feed import event_stream
from orchestrator.views.console.feed.hub import Hub
from orchestrator.views.console.web.serving import READERS_MAX, READERS_RESERVED
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import (
    TIMEOUT_S,
    client,
    open_sockets,
    refused,
    watching,
)
from tests.orchestrator.views.console.serve import Served


def test_everything_comes_first_then_only_what_changed(start: Start) -> None:
    served = start()
    with watching(served) as page:
        first = page.next()
        assert first.event == "state"
        (cluster,) = first.data["clusters"]
        assert [each["id"] for each in cluster["brokers"]] == [1, 2, 3, 4]
        served.advance()
        change = page.next("change")
        (changed,) = change.data["clusters"]
        assert [each["id"] for each in changed["brokers"]] == [2]
        assert changed["brokers"][0]["pending"] == 61
        assert "sources" not in changed
        assert first.id != change.id


def test_what_changed_adds_up_to_what_is(start: Start) -> None:
    """Through a broker's end, the next one's restart and the phase after the last one."""
    served = start()
    with watching(served) as page:
        page.next()
        while served.world.at.moving <= served.world.shape.brokers:
            served.advance(share=0.5)
            page.next("change")
        served.advance()
        page.next("change")
    with client(served) as http:
        assert page.state == http.get("/api/state").json()
    (cluster,) = page.state["clusters"]
    assert cluster["head"]["phase"] == "dual-write"


def test_a_page_that_comes_again_has_everything_again(start: Start) -> None:
    served = start()
    with watching(served) as page:
        known = page.next().id
    served.advance()
    served.until_shown()
    assert known is not None
    with watching(served, **{"Last-Event-ID": known}) as page:
        again = page.next()
        assert (again.event, again.id != known) == ("state", True)
        assert again.data["clusters"][0]["brokers"][1]["pending"] == 61


def test_before_the_first_look_there_is_nothing_and_then_everything(start: Start) -> None:
    served = start(looked=False)
    with watching(served) as page:
        assert page.next().data["clusters"] == []
        served.look()
        assert [each["name"] for each in page.next("state").data["clusters"]] == ["prod"]
        served.advance()
        page.next("change")


def test_several_tabs_are_told_the_same(start: Start) -> None:
    served = start()
    with ExitStack() as opened:
        pages = [opened.enter_context(watching(served)) for _ in range(5)]
        for page in pages:
            page.next()
        served.advance()
        assert len({json.dumps(page.next("change").data) for page in pages}) == 1


def test_a_look_without_news_is_not_told(start: Start) -> None:
    served = start()
    with watching(served) as page:
        page.next()
        served.look()
        served.advance(share=0.1)
        assert page.next("change").data["clusters"][0]["brokers"][0]["pending"] == 58


def test_a_beat_comes_when_nothing_else_does(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "BEAT_S", 0.05)
    served = start()
    with watching(served) as page:
        page.next("beat")  # it follows the state
        assert page.next("beat").data["looked_ms"] == served.world.at.now_ms


class Ending(Hub):
    """A hub that has no news and then ends."""

    async def news(self, version: int) -> None:
        del version
        self.close()


def test_the_present_time_follows_the_first_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state has the time of its last change, which a page must not show as the present."""
    at_ms = 1_795_311_000_000
    monkeypatch.setattr(event_stream, "wall_clock_ms", lambda: at_ms)
    hub = Ending({"prod": True}, {}, 1, 0)
    hub.take(at_ms - 600_000, [])

    async def read() -> list[list[str]]:
        return [
            frame.decode().splitlines() async for frame in event_stream._frames(hub, lambda: True)
        ]

    frames = asyncio.run(read())
    assert [each[0] for each in frames] == ["event: state", "event: beat", "event: end"]
    beat = json.loads(frames[1][1].removeprefix("data: "))
    assert beat == {"at_ms": at_ms, "looked_ms": at_ms - 600_000}


def test_a_page_too_many_is_refused(start: Start) -> None:
    """Without the token; the reserved places are open to a page that has shown it."""
    served = start()
    shown = {"Authorization": f"Bearer {served.token}"}
    with ExitStack() as opened:
        free = READERS_MAX - READERS_RESERVED
        pages = [opened.enter_context(watching(served)) for _ in range(free)]
        for page in pages:
            page.begin()
        with client(served) as http:
            assert refused(http.get("/api/stream")) == (503, "too_many")
        more = [opened.enter_context(watching(served, **shown)) for _ in range(READERS_RESERVED)]
        for page in more:
            page.begin()
        with client(served, token=served.token) as http:
            assert refused(http.get("/api/stream")) == (503, "too_many")
    _wait_for_room(served)


def _wait_for_room(served: Served) -> None:
    """Wait until the server has noticed that the other pages are closed."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline_s:
        with client(served) as http, http.stream("GET", "/api/stream") as answer:
            if answer.status_code == 200:
                return
            answer.read()
            assert refused(answer) == (503, "too_many")
    raise AssertionError(f"no room within {TIMEOUT_S} s of closing every page")


def test_a_head_request_takes_no_place(start: Start) -> None:
    """It has no body, and only the body gave its place back."""
    served = start()
    with client(served) as http:
        for _ in range(READERS_MAX + 1):
            answer = http.head("/api/stream")
            assert answer.status_code == 200
    with watching(served) as page:
        page.next()


@contextmanager
def deaf(served: Served) -> Iterator[socket.socket]:
    """A page that asks for the stream and reads nothing of it."""
    at = served.console.at
    with closing(socket.socket()) as asking:
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asking.connect((at.host, at.port))
        asking.sendall(f"GET /api/stream HTTP/1.1\r\nHost: {at}\r\n\r\n".encode())
        yield asking


MORE_THAN_THE_BUFFERS = sample.Shape(
    brokers=200, directories=12, each=1_200, partitions=80_000, topics=9, racks=3
)


@pytest.mark.slow
def test_who_does_not_read_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "UNREAD_S_MAX", 0.2)
    served = start(shape=MORE_THAN_THE_BUFFERS)
    served.advance()
    served.until_shown()
    with deaf(served) as asking:
        closed = select.poll()
        closed.register(asking, 0)  # a reset comes unasked; nothing is taken off the buffer
        assert closed.poll(1000 * TIMEOUT_S)
        assert asking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


@pytest.mark.slow
def test_a_response_that_is_not_read_does_not_outlive_the_server(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "_GRACE_S", 0.1)
    served = start(shape=MORE_THAN_THE_BUFFERS)
    with deaf(served) as asking:
        asking.recv(1, socket.MSG_PEEK)
        served.end()
    assert open_sockets(served) == []


def test_the_end_is_told_and_everything_closes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a page that does not read; nothing of the console is left."""
    monkeypatch.setattr(http_server, "UNREAD_S_MAX", 3600.0)
    served = start()
    ended = threading.Event()
    told: list[str] = []

    def watch() -> None:
        with watching(served) as page:
            told.append(page.next().event)
            opened.set()
            try:
                while True:
                    told.append(page.next().event)
            except StopIteration:
                ended.set()

    opened = threading.Event()
    tab = threading.Thread(target=watch)
    tab.start()
    assert opened.wait(TIMEOUT_S)
    with deaf(served):
        served.end()
        assert ended.wait(TIMEOUT_S)
    tab.join()
    assert [each for each in told if each != "beat"] == ["state", "end"]
    assert not [each for each in threading.enumerate() if each.name.startswith("console")]
    with pytest.raises(ConnectionRefusedError), socket.create_connection(served.console.at, 5):
        pass
