"""Connections that send nothing, or too little: they never keep others out."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from orchestrator.process import http_server
from orchestrator.process.admission import CONNECTIONS_MAX, Crowd, Rank
from tests.orchestrator.views.console.conftest import Start
from tests.orchestrator.views.console.reading import TIMEOUT_S, client
from tests.orchestrator.views.console.serve import Served
from tests.orchestrator.views.console.test_refusals import pause


@contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    at = served.console.at
    with closing(socket.create_connection((at.host, at.port), timeout=TIMEOUT_S)) as one:
        yield one


def is_closed(one: socket.socket) -> bool:
    """Whether the server closes it; waits for that."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def test_silent_connections_keep_nobody_out(start: Start) -> None:
    served = start()
    with ExitStack() as opened:
        first, *_ = [opened.enter_context(connected(served)) for _ in range(CONNECTIONS_MAX)]
        assert pause(served).status_code == 200
        assert is_closed(first), "the oldest one made room"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a"])
def test_half_a_request_is_cut_off(
    start: Start, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(http_server, "HEAD_S_MAX", 0.5)
    served = start()
    with connected(served) as one:
        one.sendall(sent)
        assert is_closed(one)


def test_the_next_request_of_a_connection_has_its_time_too(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = start()
    with connected(served) as one:
        ask = f"GET /api/session HTTP/1.1\r\nHost: {served.console.at}\r\n\r\n".encode()
        one.sendall(ask)
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 200")
        # The time of the request after this one begins when this one is answered.
        monkeypatch.setattr(http_server, "HEAD_S_MAX", 0.5)
        one.sendall(ask + b"GET /api/ses")
        while not is_closed(one):
            pass  # the second answer


def test_a_request_that_is_answered_is_not_cut_off(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event stream stays open for as long as anybody reads it."""
    monkeypatch.setattr(http_server, "HEAD_S_MAX", 0.5)
    monkeypatch.setattr("orchestrator.views.console.feed.event_stream.BEAT_S", 0.3)
    served = start()
    with client(served) as http, http.stream("GET", "/api/stream") as answer:
        beats = (line for line in answer.iter_lines() if line == "event: beat")
        assert [next(beats) for _ in range(3)]


def pair(opened: ExitStack) -> socket.socket:
    ours, theirs = socket.socketpair()
    opened.enter_context(closing(theirs))
    return opened.enter_context(closing(ours))


def test_the_least_important_connection_makes_room() -> None:
    with ExitStack() as opened:
        crowd = Crowd(total_max=3)
        trusted, asking, quiet, new, last = (pair(opened) for _ in range(5))
        for port, one in enumerate([trusted, asking, quiet]):
            assert crowd.admit(one, ("127.0.0.1", port))
        crowd.rank(("127.0.0.1", 0), Rank.TRUSTED)
        crowd.rank(("127.0.0.1", 1), Rank.ASKING)
        assert crowd.admit(new, ("127.0.0.1", 3))
        assert is_shut(quiet)
        crowd.rank(("127.0.0.1", 3), Rank.TRUSTED)
        assert crowd.admit(last, ("127.0.0.1", 4))
        assert is_shut(asking)
        assert not is_shut(trusted)


def test_where_all_are_trusted_there_is_no_room() -> None:
    with ExitStack() as opened:
        crowd = Crowd(total_max=1)
        assert crowd.admit(pair(opened), ("127.0.0.1", 1))
        crowd.rank(("127.0.0.1", 1), Rank.TRUSTED)
        assert not crowd.admit(pair(opened), ("127.0.0.1", 2))


def test_another_host_has_a_share_only() -> None:
    with ExitStack() as opened:
        crowd = Crowd(total_max=10, per_client_max=2)
        ours, *theirs = (pair(opened) for _ in range(4))
        assert crowd.admit(ours, ("127.0.0.1", 1))
        for port, one in enumerate(theirs):
            assert crowd.admit(one, ("192.0.2.1", port))
        assert [is_shut(each) for each in (ours, *theirs)] == [False, True, False, False]


def is_shut(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
