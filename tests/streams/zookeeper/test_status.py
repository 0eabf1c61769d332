"""The parts of a connection string; the status before the first connection."""

import threading
from collections.abc import Sequence

import pytest

from migration.observed.facts import ZooKeeperBlind, ZooKeeperFact
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.known import Known
from streams.zookeeper.watcher import ZooKeeperWatcher, _Appender
from tests.support.polling import until


@pytest.mark.parametrize(
    ("connect", "hosts", "chroot"),
    [
        ("zk1:2181,zk2:2181/kafka", "zk1:2181,zk2:2181", "/kafka"),
        ("zk1:2181/kafka/a/", "zk1:2181", "/kafka/a"),
        ("zk1:2181/", "zk1:2181", ""),
        ("[::1]:2181", "[::1]:2181", ""),
    ],
)
def test_hosts_and_chroot_are_parted(connect: str, hosts: str, chroot: str) -> None:
    config = Ensemble(connect=connect)
    assert (config.hosts, config.chroot) == (hosts, chroot)


def test_before_it_begins_nothing_is_known_as_current() -> None:
    told = ZooKeeperWatcher(Ensemble(connect="zk1"), Known(), lambda _: None, lambda: 7).status()
    assert (told.observed_ms, told.last_reply_ms, told.endpoint) == (7, None, None)
    assert (told.waiting, told.error) == ("the watcher has not begun yet", None)
    assert told.whole_since_ms == 7, "nothing that was read before is known to be the present"


def test_a_new_client_keeps_why_each_server_did_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Client] = []
    monkeypatch.setattr(Client, "open", lambda client: opened.append(client))
    ensemble = Ensemble(connect="zk1:2181,zk2:2181", session_timeout_ms=0)
    watcher = ZooKeeperWatcher(ensemble, Known(), lambda _: None, lambda: 7)
    for server in ("zk1:2181", "zk2:2181"):
        watcher._follow()
        opened[-1].handler.tried[server] = "refused"
    assert opened[-1].why_not() == "no ZooKeeper reachable: zk1:2181: refused, zk2:2181: refused"


def test_facts_that_are_stored_for_long_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats come by the status, not after those facts: they prove nothing of them."""
    monkeypatch.setattr("streams.zookeeper.watcher._BLOCKED_S", 0.0)
    begun, may_end = threading.Event(), threading.Event()

    def append(_: Sequence[ZooKeeperFact]) -> None:
        begun.set()
        assert may_end.wait(60)

    appender = _Appender(append).start()
    assert appender.why_not() is None
    appender.put([ZooKeeperBlind(1, "x")])
    assert begun.wait(60)
    assert str(appender.why_not()).startswith("the state of ZooKeeper has not been stored for")
    may_end.set()
    until(lambda: appender.why_not() is None)
    appender.stop()
