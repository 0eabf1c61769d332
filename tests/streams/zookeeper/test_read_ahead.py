"""The separate process reads a notification in one round trip, and does not outlive its parent."""

import base64
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kazoo.exceptions import ConnectionLoss, NoNodeError
from kazoo.protocol.states import KazooState

from migration.observed.znodes import NOTIFICATIONS
from streams.net.security import Security
from streams.zookeeper import notification_process, read_ahead
from streams.zookeeper.ensemble import Ensemble, ensemble_option, parse_ensemble
from streams.zookeeper.notification_process import AHEAD
from streams.zookeeper.read_ahead import ReadAhead
from streams.zookeeper.sequence import notification_number
from tests.streams.zookeeper.test_notifications import Model

NOWHERE = "127.0.0.1:9"

T = TypeVar("T")


class Result:
    """kazoo's result of a request."""

    def __init__(self) -> None:
        self.value: Any = None
        self.exception: Exception | None = None

    def rawlink(self, answered: Callable[["Result"], None]) -> None:
        self.answered = answered

    def successful(self) -> bool:
        return self.exception is None


class Server:
    """kazoo's client and its server, which answers one request at a time, in order."""

    on_state: Callable[..., None]

    def __init__(self) -> None:
        self.model = Model()
        self.sent: deque[tuple[str, str, Result]] = deque()
        self.watched = False

    def listen(self, _path: str, on_event: Callable[[str, str], None]) -> None:
        self.on_event = on_event

    def open(self) -> None:
        self.on_state(self, KazooState.CONNECTED, "zk")

    def end(self) -> None:
        pass

    def get_async(self, path: str) -> Result:
        return self._ask("get", path)

    def get_children_async(self, path: str, **_options: object) -> Result:
        return self._ask("list", path)

    def exists_async(self, path: str, **_options: object) -> Result:
        return self._ask("exists", path)

    def sync_async(self, path: str) -> Result:
        return self._ask("sync", path)

    def _ask(self, request: str, path: str) -> Result:
        self.sent.append((request, path, Result()))
        return self.sent[-1][2]

    def serve(self) -> None:
        if not self.sent:
            return
        request, path, result = self.sent.popleft()
        result.value = None if request == "sync" else self.model._answer(request, path)
        if result.value is None and request in ("get", "list"):
            result.exception = NoNodeError()
        if request == "exists" or (request == "list" and result.successful()):
            self.watched = True
        result.answered(result)

    def drop(self) -> None:
        """Lose the connection, and connect again."""
        self.on_state(self, KazooState.SUSPENDED, "zk")
        self.watched = False
        sent, self.sent = self.sent, deque()
        for _, _, result in sent:
            result.exception = ConnectionLoss()
            result.answered(result)
        self.open()

    def change(self, change: Callable[[], None]) -> None:
        before = self.model.zxid
        change()
        if self.model.zxid != before and self.watched:
            self.watched = False
            self.on_event("CHILD", NOTIFICATIONS)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    yield from _server(monkeypatch)


def _server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()

    def client(_ensemble: Ensemble, on_state: Callable[..., None]) -> Server:
        made.on_state = on_state
        return made

    monkeypatch.setattr(notification_process, "Client", client)
    yield made


def reader() -> tuple[notification_process._Reader, list[Any]]:
    """The reader, and the messages (`Message`) that it writes."""
    written: list[Any] = []
    return notification_process._Reader(Ensemble(connect="zk"), written.append), written


def settle(server: Server) -> None:
    while server.sent:
        server.serve()


def read(written: list[Any]) -> list[int]:
    return [message[1] for message in written if message[0] == "read"]


STEPS: dict[str, Callable[[Server], None]] = {
    "serve": Server.serve,
    "notify": lambda server: server.change(server.model.notify),
    "delete oldest": lambda server: server.change(lambda: server.model.delete(newest=False)),
    "delete newest": lambda server: server.change(lambda: server.model.delete(newest=True)),
    "remove": lambda server: server.change(server.model.remove),
    "make": lambda server: server.change(server.model.make),
    "reconnect": Server.drop,
}


@example(steps=["make", "notify", "serve", "reconnect"])
@given(steps=st.lists(st.sampled_from(["serve"] * 8 + ["notify"] * 4 + list(STEPS)), max_size=80))
def test_all_that_still_exists_is_read(steps: list[str]) -> None:
    """Also after a loss, and below a parent that was created again; none is read wrongly."""
    with pytest.MonkeyPatch.context() as patch:
        server = next(_server(patch))
        found, written = reader()
        for step in steps:
            STEPS[step](server)
        found.catch_up(7)
        settle(server)
    for path, czxid in server.model.children.items():
        number, stat = notification_number(path), server.model._stat(czxid)
        assert any(m[:3] == ("read", number, "eA==") and m[3][0] == stat.czxid for m in written)
    assert written[-1] == ("caught up", 7)
    assert ("watching", True) in written


@given(notify=st.lists(st.integers(1, AHEAD), max_size=20))
def test_each_is_read_whose_deletion_follows_the_requests(notify: list[int]) -> None:
    """One watch reports several creations; a plain watch would ask only after its listing.

    KIP-589, "Motivation".
    """
    with pytest.MonkeyPatch.context() as patch:
        server = next(_server(patch))
        server.model.make()
        _, written = reader()
        settle(server)
        for number in notify:
            for _ in range(number):
                server.change(server.model.notify)
            for _ in range(AHEAD):  # only the requests that were sent for the first event
                server.serve()
            for _ in range(number):
                server.change(lambda: server.model.delete(newest=False))
            settle(server)
    assert sorted(set(read(written))) == list(range(server.model.created))


def test_the_listing_is_in_the_same_round_trip(server: Server) -> None:
    server.model.make()
    reader()
    settle(server)
    server.change(server.model.notify)
    assert [request for request, *_ in server.sent] == [*["get"] * AHEAD, "list"]
    assert server.sent[0][1] == f"{NOTIFICATIONS}/log_dir_event_0000000000"


def test_a_flood_of_notifications_is_asked_for_in_bounds(server: Server) -> None:
    """Further requests would fill kazoo's pipe: see `session.IN_FLIGHT_MAX`."""
    server.model.make()
    for _ in range(500):
        server.model.notify()
    _, written = reader()
    server.serve()
    assert len(server.sent) == 64
    settle(server)
    assert read(written) == list(range(436, 500))


def test_a_parent_that_was_created_again_meanwhile_counts_from_0(server: Server) -> None:
    server.model.make()
    _, written = reader()
    settle(server)
    for _ in range(5):
        server.change(server.model.notify)
    settle(server)
    written.clear()

    def again() -> None:
        server.model.remove()
        server.model.make()
        for _ in range(2):
            server.model.notify()

    server.change(again)
    settle(server)
    assert read(written) == [0, 1]


def test_a_parent_is_awaited(server: Server) -> None:
    _, written = reader()
    settle(server)
    assert written == [("watching", True)]
    server.change(server.model.make)
    settle(server)
    server.change(server.model.notify)
    assert server.sent[0][1].endswith("_0000000000")


def test_any_bytes_are_passed_on(server: Server) -> None:
    server.model.make()
    server.model._answer = lambda *_: (bytes(range(256)), server.model._stat(5))  # type: ignore[method-assign]
    found, written = reader()
    server.sent.clear()
    found._read(3, set(), lambda: None)
    settle(server)
    _, number, data, stat = written[-1]
    assert (number, base64.b64decode(data), stat[0]) == (3, bytes(range(256)), 5)


def test_the_process_gets_the_same_settings(tmp_path: Any) -> None:
    ensemble = Ensemble(
        connect="zk1:2181,zk2:2182/kafka",
        session_timeout_ms=4321,
        security=Security(
            protocol="SSL", username="u", password_file=tmp_path / "p", ca_file=tmp_path / "ca"
        ),
    )
    assert parse_ensemble(ensemble_option(ensemble)) == ensemble


# The process


def until(holds: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + 60
    while not (value := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def child(of: int, *but: psutil.Process) -> psutil.Process | None:
    """The separate process of a parent, apart from those that ended."""
    for each in psutil.Process(of).children():
        with suppress(psutil.Error):
            if each not in but and notification_process.__name__ in each.cmdline():
                return each
    return None


def ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_a_process_that_dies_is_replaced_and_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "RESTART_S", 0.1)
    me = psutil.Process().pid
    with ReadAhead(Ensemble(connect=NOWHERE), lambda action: action()):
        first = until(lambda: child(me))
        first.kill()
        second = until(lambda: child(me, first))
    assert not first.is_running()
    until(lambda: not second.is_running())


def test_a_process_that_does_not_answer_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "RESTART_S", 0.1)
    monkeypatch.setattr(read_ahead, "CATCH_UP_S_MAX", 0.0)
    me, released = psutil.Process().pid, list[bool]()
    with ReadAhead(Ensemble(connect=NOWHERE), lambda action: action()) as ahead:
        first = until(lambda: child(me) if ahead._process else None)
        first.suspend()
        ahead._take(["watching", True])
        ahead.catch_up(lambda: released.append(True))
        assert not released
        while not released:
            ahead.tick()
        second = until(lambda: child(me, first))
    assert not first.is_running()
    until(lambda: not second.is_running())


def test_a_process_that_is_frozen_does_not_outlive_the_watcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_ahead, "_STOP_S", 0.2)
    me = psutil.Process().pid
    with ReadAhead(Ensemble(connect=NOWHERE), lambda action: action()) as ahead:
        found = until(lambda: child(me) if ahead._process else None)
        found.suspend()
    until(lambda: not found.is_running())


_PARENT = f"""
import time
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.read_ahead import ReadAhead
ReadAhead(Ensemble(connect={NOWHERE!r}), lambda action: action()).start()
time.sleep(600)
"""


@pytest.mark.slow
def test_it_ends_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT]) as parent:
        try:
            found = until(lambda: child(parent.pid))
        finally:
            parent.kill()
    until(lambda: ended(found))
