"""The watcher's status by what a ZooKeeper answers at once; no thread runs."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooState
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from migration.observed.znodes import CLUSTER_ID, CONTROLLER, CONTROLLER_EPOCH
from streams.net.security import Security
from streams.zookeeper import all_znodes, watcher
from streams.zookeeper.dialing import Handler
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from streams.zookeeper.watcher import ZooKeeperWatcher
from tests.streams.zookeeper.watching import CLUSTER


class Answer:
    """kazoo's result of a request that was answered at once."""

    def __init__(self, value: object = None, exception: Exception | None = None) -> None:
        self.value = value
        self.exception = exception

    def rawlink(self, answered: Callable[["Answer"], None]) -> None:
        answered(self)


class Server:
    """kazoo's client and its server; `watches` are those that the client keeps, by path."""

    event_at = -math.inf
    has_branches = True
    session_timeout_s = 4.0
    session_id = 1
    last_zxid = 1

    def __init__(self) -> None:
        self.handler = Handler(Security())
        self.readings = 0
        self.watches_max = 0
        self.allowed_after = 0
        self.data: dict[str, bytes] = {}
        self.refused: set[str] = set()
        self.watches: dict[str, set[Callable[..., None]]] = {}

    def __call__(self, _ensemble: Ensemble, on_state: Callable[..., None]) -> "Server":
        self.on_state = on_state
        return self

    def open(self) -> None:
        self.on_state(self, KazooState.CONNECTED, "zk1:2181")

    def end(self) -> None:
        self.watches.clear()

    def watch_below_async(self, _path: str, **_options: object) -> Answer:
        return Answer()

    def sync_async(self, path: str) -> Answer:
        self.readings += 1
        if self.readings == self.allowed_after:
            self.refused.clear()
        return Answer(path)

    def exists_async(self, path: str, watch: Callable[..., None]) -> Answer:
        self._add(path, watch)
        return Answer(stat() if path in self.data else None)

    def get_async(self, path: str, **options: Any) -> Answer:
        if path in self.data and path not in self.refused:
            return self._watched(path, options, (self.data[path], stat()))
        return Answer(exception=NoAuthError() if path in self.refused else NoNodeError())

    def get_children_async(
        self, path: str, *, include_data: bool = False, **options: Any
    ) -> Answer:
        if path in self.data:
            return self._watched(path, options, ([], stat()) if include_data else [])
        return Answer(exception=NoNodeError())

    def _watched(self, path: str, options: dict[str, Any], found: object) -> Answer:
        if "watch" in options:
            self._add(path, options["watch"])
        return Answer(found)

    def _add(self, path: str, watch: Callable[..., None]) -> None:
        kept = self.watches.setdefault(path, set())
        kept.add(watch)
        self.watches_max = max(self.watches_max, len(kept))


def stat() -> ZnodeStat:
    return ZnodeStat(2, 2, 7, 7, 0, 0, 0, 0, 1, 0, 2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(watcher, "Client", made)
    return made


def connected(server: Server, connect: str = "zk1:2181/kafka") -> ZooKeeperWatcher:
    made = ZooKeeperWatcher(Ensemble(connect=connect), Known(), lambda _: None, lambda: 7)
    made._client = server  # type: ignore[assignment] # as `_follow` sets it
    server(made._config, made._state_changed).open()
    settle(made)
    return made


def settle(made: ZooKeeperWatcher) -> None:
    while not made._work.empty():
        made._turn()


@pytest.mark.parametrize(("connect", "where"), [("zk1/kafak", "/kafak"), ("zk1", "/")])
def test_a_path_without_a_cluster_is_an_error(server: Server, connect: str, where: str) -> None:
    """A wrong or forgotten chroot: every znode, also a stale /migration, would count as absent."""
    made = connected(server, connect)
    assert made.known.sees
    assert made.status().error == (
        f"no Kafka cluster is below {where}: ZooKeeper has no /cluster/id there. Set"
        " zookeeper.connect to the brokers' value, including the chroot"
    )
    server.data[CLUSTER_ID] = CLUSTER
    made._begin()
    settle(made)
    assert (made.status().error, made.status().waiting) == (None, None)
    assert made.status().cluster_id == "AAAAAAAAAAAAAAAAAAAAAA"


def test_a_change_without_an_event_is_found_and_adds_no_watch(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.data[CLUSTER_ID] = CLUSTER
    made = connected(server)

    def reread() -> None:
        with monkeypatch.context() as due:
            due.setattr(all_znodes, "_REREAD_S", -1)
            made._tick()
        settle(made)

    server.data[CONTROLLER] = b"1"
    reread()
    found = made.known.znode(CONTROLLER)
    assert found is not None
    assert found.data == b"1"
    assert server.watches_max == 1
    server.refused.add(CONTROLLER)
    reread()
    assert (made.known.sees, made.status().error) == (
        False,
        "ZooKeeper refused to show /controller: NoAuth",
    )


def test_no_fact_of_another_cluster_is_emitted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ensembles that were set up alike have the same transactions and versions."""
    server.data = {CLUSTER_ID: CLUSTER}
    made = connected(server)
    other = {CLUSTER_ID: CLUSTER.replace(b"A", b"B"), CONTROLLER: b"{}", CONTROLLER_EPOCH: b"1"}
    server.data, ours = other, server.data
    monkeypatch.setattr(made, "_touched", lambda _: made._stopping.set())  # it was followed
    monkeypatch.setattr(made._stopping, "wait", lambda _: made._stopping.set())
    made._run()
    assert {path: made.known.znode(path) is None for path in other} == {
        CLUSTER_ID: False,
        CONTROLLER: True,
        CONTROLLER_EPOCH: True,
    }
    assert not made.known.sees
    assert made.status().cluster_id == "B" * 22
    assert made.status().error == (
        f"zk1:2181: /cluster/id is {'B' * 22}, but this state directory follows cluster"
        f" {'A' * 22}. Correct zookeeper.connect, or use another state_dir"
    )
    server.data = ours
    made._client = server  # type: ignore[assignment] # as `_follow` sets it
    made._begin()
    settle(made)
    assert (made.status().cluster_id, made.status().error) == ("A" * 22, None)
    made._lose("the connection was lost")
    assert made.status().cluster_id is None


def test_refusals_keep_no_watches_and_are_retried_less_and_less_often(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kazoo keeps each watch until its path changes; every attempt set all of them again."""
    monkeypatch.setattr(watcher, "_AGAIN_S", 1e-9)
    monkeypatch.setattr(watcher, "_AGAIN_S_MAX", 3e-9)
    server.data = {CLUSTER_ID: CLUSTER, CONTROLLER: b"{}"}
    server.refused, server.allowed_after = {CONTROLLER}, 4
    again: list[float] = []

    def client(*options: Any) -> Server:
        again.append(made._again_s)
        return server(*options)

    monkeypatch.setattr(watcher, "Client", client)
    made = ZooKeeperWatcher(
        Ensemble(connect="zk1"),
        Known(),
        lambda _: None,
        lambda: 7,
        touched=lambda _: made._stopping.set(),  # everything was read
    )
    made._run()
    assert (server.readings, server.watches_max) == (4, 1)
    assert again == [1e-9, 2e-9, 3e-9, 3e-9]
    assert (made.status().error, made._again_s) == (None, 1e-9)
