"""A real ZooKeeper is lost during a reading: nothing partial is reported, and it restarts."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.security import make_acl, make_digest_acl

from migration.observed.facts import ZnodeSeen
from migration.observed.znodes import CLUSTER_ID
from orchestrator.lab import Lab
from streams.zookeeper.content.gathering import Gathering
from streams.zookeeper.content.reader import CLOSED
from streams.zookeeper.content.reading import ContentReading
from streams.zookeeper.session import IN_FLIGHT_MAX
from tests.streams.zookeeper.content import (
    Compared,
    all_touched,
    comparing,
    config_data,
    configs_of,
    parts,
    raw_id,
    state_data,
    topic_data,
    topics_of,
)
from tests.streams.zookeeper.watching import CLUSTER, Writer

pytestmark = pytest.mark.lab

ZOOKEEPER = "zookeeper"
LOST = ("was lost", "ended", "ConnectionLoss", "SessionExpired")
TOPICS = 40
PARTITIONS = 2 * IN_FLIGHT_MAX // TOPICS + 25
"""So many that halfway more are left than are in flight: some are asked for only afterwards."""


@pytest.fixture
def written(kafka: Writer) -> None:
    replicas = dict.fromkeys(range(PARTITIONS), (1, 2))
    for number in range(TOPICS):
        base = f"/brokers/topics/t{number}"
        transaction = kafka.client.transaction()
        transaction.create(base, topic_data(raw_id(number), replicas))
        transaction.create(f"{base}/partitions", b"")
        for each in replicas:
            transaction.create(f"{base}/partitions/{each}", b"")
            transaction.create(f"{base}/partitions/{each}/state", state_data(1, (1, 2)))
        if number == 0:
            kafka.client.ensure_path("/brokers/topics")
        assert not any(isinstance(made, Exception) for made in transaction.commit())


@contextmanager
def halfway(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> Iterator[None]:
    """Run an action when half of the topics are read, before the rest is requested."""
    take_state = Gathering._take_state
    done = threading.Event()

    def taken(self: Gathering, *args: Any) -> None:
        take_state(self, *args)
        if len(self._topics) == TOPICS // 2 and not done.is_set():
            done.set()
            do()

    with monkeypatch.context() as patched:
        patched.setattr(Gathering, "_take_state", taken)
        yield
    assert done.is_set()


def again(compared: Compared) -> None:
    """The next reading is complete, and the only one that is reported."""
    assert compared.reported() == []
    all_touched(compared)
    assert len(topics_of(compared.until_reported())) == TOPICS
    compared.until(lambda: compared.reader.error is None)
    assert len(compared.reported()) == 1


@pytest.mark.usefixtures("written")
def test_zookeeper_killed_in_the_middle(
    lab: Lab, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with halfway(monkeypatch, lambda: lab.kill(ZOOKEEPER)), comparing(connect) as compared:
        compared.until_abandoned(*LOST)
        assert compared.reported() == []
        all_touched(compared)
        try:
            why = compared.until_abandoned("no ZooKeeper reachable")
        finally:
            lab.start_zookeeper()
        assert "refused" in why
        again(compared)


@pytest.mark.usefixtures("written")
def test_the_session_expired_in_the_middle(connect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[ContentReading] = []
    run = ContentReading.run

    def remembered(self: ContentReading) -> Any:
        readings.append(self)
        return run(self)

    monkeypatch.setattr(ContentReading, "run", remembered)

    def steal() -> None:
        # A client that knows a session's password can end it: for its first owner it expires.
        Writer(connect, client_id=readings[-1].client.client_id).close()

    with halfway(monkeypatch, steal), comparing(connect) as compared:
        compared.until_abandoned(*LOST)
        again(compared)


@pytest.mark.usefixtures("written")
def test_zookeeper_frozen_in_the_middle(
    lab: Lab, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two timeouts race: either kazoo or the reader gives up first."""
    with halfway(monkeypatch, lambda: lab.freeze(ZOOKEEPER)), comparing(connect) as compared:
        try:
            compared.until_abandoned("has not answered for", *LOST)
        finally:
            lab.thaw(ZOOKEEPER)
        again(compared)


def test_a_refusal_abandons_it_and_names_the_path(kafka: Writer, connect: str) -> None:
    kafka.create("/config/topics/t", b"{}")
    kafka.client.set_acls("/config/topics/t", [SOMEONE])
    with comparing(connect) as compared:
        why = compared.until_abandoned("refused")
        assert why == "ZooKeeper refused to show /config/topics/t: NoAuth"
        assert compared.reported() == []
    opened(kafka, "/config/topics/t")


def test_content_of_another_cluster_is_not_taken(kafka: Writer, connect: str) -> None:
    """One server of `connect` may belong to another ensemble."""
    kafka.create(CLUSTER_ID, CLUSTER.replace(b"A", b"B"))
    followed = ZnodeSeen(1, CLUSTER_ID, CLUSTER, 0, 1, 1, 0)
    compared = Compared(connect)
    compared.known.take(followed)
    with compared.reader:
        compared.until_abandoned(f"/cluster/id is {'B' * 22}, but")
        assert compared.reported() == []
        compared.known.take(followed._replace(data=kafka.client.get(CLUSTER_ID)[0]))
        all_touched(compared)
        compared.until_reported()


@pytest.mark.parametrize("path", ["/config/brokers", "/config/brokers/1"])
def test_brokers_settings_that_are_closed_are_left_out_and_named(
    kafka: Writer, connect: str, path: str
) -> None:
    """As with zookeeper.set.acl. One closed znode would look like a broker without settings."""
    with suppress(NoNodeError):  # both begin with nothing
        kafka.delete("/config")
    for name in ("topics/t", "brokers/1", "brokers/2"):
        kafka.create(f"/config/{name}", config_data({"a": "1"}))
    kafka.client.set_acls(path, [SOMEONE])
    with comparing(connect) as compared:
        facts = compared.until_reported()
        assert {each.closed for each in parts(facts)[0]} == {("brokers",)}
        assert set(configs_of(facts)) == {("topics", "t")}
        compared.until(lambda: compared.reader.limits == (CLOSED["brokers"],))
        assert compared.reader.error is None
        opened(kafka, path)
        all_touched(compared)
        facts = compared.until_reported(2)
        assert {each.closed for each in parts(facts)[0]} == {()}
        assert set(configs_of(facts)) == {("topics", "t"), ("brokers", "1"), ("brokers", "2")}
        compared.until(lambda: compared.reader.limits == ())


@pytest.mark.parametrize("path", ["/config/users", "/config/users/a", "/config/users/a/clients/b"])
def test_quotas_that_are_closed_are_left_out_and_named(
    kafka: Writer, connect: str, path: str
) -> None:
    with suppress(NoNodeError):  # all begin with nothing
        kafka.delete("/config")
    rate = config_data({"consumer_byte_rate": "1"})
    for name in ("users/a", "users/a/clients/b", "clients/c"):
        kafka.create(f"/config/{name}", rate)
    kafka.client.set_acls(path, [SOMEONE])
    with comparing(connect) as compared:
        facts = compared.until_reported()
        assert {each.closed for each in parts(facts)[0]} == {("quotas",)}
        assert set(configs_of(facts)) == set()
        compared.until(lambda: compared.reader.limits == (CLOSED["quotas"],))
        assert compared.reader.error is None
        opened(kafka, path)
        all_touched(compared)
        facts = compared.until_reported(2)
        assert {each.closed for each in parts(facts)[0]} == {()}
        assert set(configs_of(facts)) == {
            ("quotas", "user 'a'"),
            ("quotas", "user 'a', client-id 'b'"),
            ("quotas", "client-id 'c'"),
        }


SOMEONE = make_digest_acl("someone", "secret", all=True)


def opened(kafka: Writer, path: str) -> None:
    kafka.client.add_auth("digest", "someone:secret")
    kafka.client.set_acls(path, [make_acl("world", "anyone", all=True)])


def test_a_stop_does_not_wait_for_a_zookeeper_that_is_absent(lab: Lab, connect: str) -> None:
    lab.kill(ZOOKEEPER)
    before = set(threading.enumerate())
    with comparing(connect) as compared:
        compared.until(lambda: compared.reader._reading is not None)
    lab.start_zookeeper()
    assert [t.name for t in set(threading.enumerate()) - before if "zookeeper" in t.name] == []
    assert compared.reported() == []
    assert compared.reader.error is None


@pytest.mark.usefixtures("written")
def test_a_stop_in_the_middle_tells_nothing(connect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Compared(connect)

    def stop() -> None:
        reading = compared.reader._reading
        assert reading is not None
        # As `stop` does, whose thread would race the reading to its end.
        compared.reader._stopping.set()
        reading.cancel()

    with halfway(monkeypatch, stop), compared.reader:
        compared.reader._thread.join(30)
        assert not compared.reader._thread.is_alive()
    assert compared.reported() == []
    assert compared.reader.error is None
