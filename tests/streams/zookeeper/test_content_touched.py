"""A real ZooKeeper: what was touched is read soon and once more, and nothing else with it."""

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kazoo.security import make_digest_acl

from migration.observed.facts import ZkConfig, ZkContentRead, ZkContentSeen, ZkPartition, ZkTopic
from migration.observed.znodes import CLUSTER_ID, CONTROLLER, MIGRATION, TOPICS
from migration.shard.placement import SHARDS
from migration.values.digests import digest
from streams.spark.journal_source import JournalOptions, ZooKeeperSource
from streams.state.fact_codec import unpack
from streams.state.journal import Journal, read
from streams.zookeeper import dirty_topics
from streams.zookeeper.content import reader
from streams.zookeeper.content.gathering import Gathering
from streams.zookeeper.watch_events import NAMES_MAX
from tests.streams.zookeeper.content import (
    CLUSTER,
    NEVER_S,
    Sense,
    comparing,
    config_data,
    parts,
    raw_id,
    reread,
    state_data,
    touched,
    write_topic,
)
from tests.streams.zookeeper.watching import Writer

pytestmark = pytest.mark.lab


def topic(name: str, number: int) -> ZkTopic:
    states = tuple(ZkPartition(each, (1, 2), 1, (1, 2)) for each in range(2))
    return ZkTopic(raw_id(number), name, states)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOON_S", "AGAIN_S"):
        monkeypatch.setattr(dirty_topics, name, 0.1)
    monkeypatch.setattr(reader, "_POLL_S", 0.05)
    # Otherwise everything is read again at each half minute of the clock.
    monkeypatch.setattr(reader, "until_next", lambda _: NEVER_S)


def test_it_is_read_soon_and_once_more_and_alone(kafka: Writer, connect: str) -> None:
    written = [topic(name, number) for number, name in enumerate(("a", "b", "c"))]
    for each in written:
        write_topic(kafka, each)
    kafka.create("/config/topics/b", config_data({"x": "1"}))
    kafka.create("/config/brokers/1", config_data({"y": "1"}))
    with comparing(connect) as compared:
        parts(compared.until_reported())
        kafka.set(f"{TOPICS}/b/partitions/0/state", state_data(2, (2,)))
        kafka.delete(f"{TOPICS}/c")
        touched(compared, "b", "c", "never was")
        seen, names = reread(compared.until_reported(2))
        assert names == {"b", "c", "never was"}
        changed = (ZkPartition(0, (1, 2), 2, (2,)), written[1].partitions[1])
        assert [topic for each in seen for topic in each.topics] == [
            written[1]._replace(partitions=changed)
        ]
        assert [config for each in seen for config in each.configs] == [
            ZkConfig("topics", "b", (("x", digest("1")),))
        ]
        assert len(seen) == SHARDS
        again, names = reread(compared.until_reported(3))
        assert names == {"b", "c", "never was"}
        assert again[0].comparison > seen[0].comparison
        assert compared.reader.error is None
        assert len(compared.reported()) == 3


def test_what_was_abandoned_is_read_again(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topic(kafka, topic("a", 1))
    with comparing(connect) as compared:
        compared.until_reported()
        with monkeypatch.context() as broken:
            broken.setattr(Gathering, "_take_topic", lambda *_: 1 / 0)
            touched(compared, "a")
            compared.until_abandoned("ZeroDivisionError")
        assert reread(compared.until_reported(2))[1] == {"a"}
        compared.until(lambda: compared.reader.error is None)


def test_too_many_are_a_whole_reading(kafka: Writer, connect: str) -> None:
    write_topic(kafka, topic("a", 1))
    with comparing(connect) as compared:
        first = compared.until_reported()
        touched(compared, *(f"t{number}" for number in range(NAMES_MAX + 1)))
        second = compared.until_reported(2)
    assert parts(first)[1].topics == parts(second)[1].topics == 1


def test_nothing_is_kept_while_there_is_nothing_to_compare(kafka: Writer, connect: str) -> None:
    write_topic(kafka, topic("a", 1))
    sense = Sense()
    with comparing(connect, should_read=sense) as compared:
        touched(compared, "a")
        compared.until(lambda: sense.asked > 1)
        sense.holds = True
        parts(compared.until_reported())


def test_the_source_reads_what_its_watch_told_it(
    kafka: Writer, connect: str, tmp_path: Path
) -> None:
    """From a write in ZooKeeper to a comparison's facts in the journal, without a whole reading."""

    def facts() -> list[Any]:
        return [unpack(fact) for _, _, fact in read(journal.path, 0, journal.last)]

    def until(holds: Callable[[Any], bool], beyond: int = 0) -> list[Any]:
        while True:
            news.clear()
            if any(map(holds, told := facts()[beyond:])):
                return told
            assert news.wait(20), status()

    def of_b(fact: object) -> bool:
        return isinstance(fact, ZkContentSeen) and fact.names == ("b",)

    write_topic(kafka, topic("a", 1))
    write_topic(kafka, topic("b", 2))
    # As with zookeeper.set.acl: the status says what is left out.
    kafka.create("/config/brokers")
    kafka.client.set_acls("/config/brokers", [make_digest_acl("someone", "secret", all=True)])
    kafka.create(CLUSTER_ID, b'{"version":"1","id":"an-id"}')
    kafka.create(
        CONTROLLER, b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":1}'
    )
    kafka.create(
        MIGRATION,
        b'{"version":0,"kraft_metadata_offset":9,"kraft_controller_id":3000,'
        b'"kraft_metadata_epoch":1,"kraft_controller_epoch":1}',
    )
    options = JournalOptions(
        cluster=CLUSTER,
        state=tmp_path,
        watched=json.dumps({"connect": connect, "security": {}}),
    )
    news = threading.Event()
    journal = Journal(tmp_path / "zookeeper.db", news.set)
    held = ExitStack()
    status = ZooKeeperSource.watch(options, journal, held)
    try:
        until(lambda fact: isinstance(fact, ZkContentRead))
        at = len(facts())
        kafka.set(f"{TOPICS}/b/partitions/1/state", state_data(2, (2,)))
        told = until(of_b, at)
        assert not any(isinstance(each, ZkContentRead) for each in told)
        (b,) = (topic for each in told if isinstance(each, ZkContentSeen) for topic in each.topics)
        assert b.partitions[1] == ZkPartition(1, (1, 2), 2, (2,))
        assert status().cluster_id == "an-id"
        assert status().limits == (reader.CLOSED["brokers"],)
    finally:
        held.close()
        journal.close()
