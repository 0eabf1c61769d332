"""A real ZooKeeper: Kafka's content is read and distributed, foreign content is named."""

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from migration.comparison.quotas import digest_of
from migration.observed.facts import ZkContentRead, ZkPartition, ZkTopic
from migration.observed.znodes import BROKER_IDS, CONTROLLER, MIGRATION, TOPICS
from migration.shard.placement import SHARDS
from migration.values.digests import digest
from streams.spark.journal_source import JournalOptions, ZooKeeperSource
from streams.state.fact_codec import pack, unpack
from streams.state.journal import Journal, read
from streams.zookeeper.content.gathering import Gathering
from streams.zookeeper.content.reading import ContentReading
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.session import Session
from tests.streams.zookeeper.content import (
    CLUSTER,
    Compared,
    Sense,
    all_touched,
    comparing,
    config_data,
    configs_of,
    parts,
    raw_id,
    state_data,
    topic_data,
    topics_of,
    write_topic,
)
from tests.streams.zookeeper.watching import Writer

pytestmark = pytest.mark.lab

VALUE = "hunter2"
HUNDREDS = 300


def topic(name: str, number: int, partitions: int = 2, leader: int | None = 1) -> ZkTopic:
    states = ((1, 2),) if leader is not None else ((),)
    return ZkTopic(
        topic_id=raw_id(number),
        name=name,
        partitions=tuple(
            ZkPartition(each, (1 + each % 2, 2), leader, states[0]) for each in range(partitions)
        ),
    )


def write_hundreds(kafka: Writer) -> dict[str, ZkTopic]:
    written = {f"t{n}": topic(f"t{n}", n, partitions=n % 4) for n in range(HUNDREDS)}
    for each in written.values():
        write_topic(kafka, each)
    return written


def test_all_is_read_and_what_says_nothing_is_named(kafka: Writer, connect: str) -> None:
    written = write_hundreds(kafka)
    written["new"] = topic("new", 1000, leader=None)
    written["leaderless"] = topic("leaderless", 1001, leader=-1)
    write_topic(kafka, written["new"])
    write_topic(kafka, written["leaderless"])
    kafka.create(f"{TOPICS}/old", b'{"version":1,"partitions":{"0":[1]}}')
    kafka.create(f"{TOPICS}/odd", b"garbage")
    half = topic("half", 1002)
    kafka.create(f"{TOPICS}/half", topic_data(half.topic_id, {0: (1, 2), 1: (2, 2)}))
    kafka.create(f"{TOPICS}/half/partitions/0/state", state_data(1, (1, 2)))
    kafka.create(f"{TOPICS}/half/partitions/1/state", b"\xff")
    written["half"] = half._replace(
        partitions=(half.partitions[0], half.partitions[1]._replace(leader=None, isr=()))
    )
    for name in ("1", "2", "x"):
        kafka.create(f"{BROKER_IDS}/{name}", b"{}")
    kafka.create("/config/topics/t1", config_data({"retention.ms": "5", "a": ""}))
    kafka.create("/config/topics/t2", config_data({}))
    kafka.create("/config/topics/t3", b'{"config":{"password":"hunter2"')
    kafka.create("/config/brokers/1", config_data({"password": VALUE}))
    kafka.create("/config/brokers/<default>", config_data({"a": "b"}))
    quota = {"producer_byte_rate": "1024", "SCRAM-SHA-512": VALUE}
    kafka.create("/config/users/a%20b", config_data(quota))
    kafka.create("/config/users/a%20b/clients/<default>", config_data({"request_percentage": "9"}))
    kafka.create("/config/users/only", b"")
    kafka.create("/config/users/only/clients/c", config_data({"consumer_byte_rate": "x"}))
    kafka.create("/config/ips/::1", config_data({"connection_creation_rate": "1e1"}))
    kafka.create("/config/users/u", config_data({"SCRAM-SHA-512": VALUE}))
    last = kafka.client.exists("/config/users/u").mzxid
    with comparing(connect) as compared:
        facts = compared.until_reported()
    seen, read_ = parts(facts)
    assert topics_of(facts) == written
    assert configs_of(facts) == {
        ("topics", "t1"): {"a": digest(""), "retention.ms": digest("5")},
        ("topics", "t2"): {},
        ("brokers", "1"): {"password": digest("")},
        ("brokers", ""): {"a": digest("b")},
        ("quotas", "user 'a b'"): {"producer_byte_rate": digest_of(1024)},
        ("quotas", "user 'a b', client-id default"): {"request_percentage": digest_of(9)},
        ("quotas", "ip '::1'"): {"connection_creation_rate": digest_of(10)},
    }
    assert read_._replace(seen_ms=0, comparison=0, zxid=0) == ZkContentRead(
        seen_ms=0,
        comparison=0,
        zxid=0,
        topics=len(written),
        partitions=sum(len(each.partitions) for each in written.values()),
        brokers=(1, 2),
    )
    unreadable = (
        (f"{BROKER_IDS}/x", "its name is no broker id"),
        (f"{TOPICS}/half/partitions/1/state", "its content is not JSON"),
        (f"{TOPICS}/odd", "its content is not JSON"),
        (f"{TOPICS}/old", "it has no topic_id"),
        ("/config/topics/t3", "its content is not JSON"),
        ("/config/users/only/clients/c", "a quota of it is not a number"),
    )
    assert {each.unreadable for each in seen} == {unreadable}
    assert read_.zxid >= last
    assert len(seen) == SHARDS
    assert len(compared.reported()) == 1
    assert compared.reader.error is None
    assert not any(VALUE.encode() in pack(fact) for fact in facts)


def test_an_empty_zookeeper_is_told_to_every_shard(kafka: Writer, connect: str) -> None:
    assert kafka.client.get_children("/") == []
    with comparing(connect) as compared:
        seen, read_ = parts(compared.until_reported())
    assert len(seen) == SHARDS
    assert (read_.topics, read_.brokers) == (0, ())


def test_only_so_many_requests_are_in_flight(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_hundreds(kafka)
    open_ = []
    ask = Session.ask

    def counted(session: Session, *args: Any, **options: Any) -> None:
        ask(session, *args, **options)
        open_.append(session.open)

    monkeypatch.setattr(Session, "ask", counted)
    content = ContentReading(Ensemble(connect=connect), in_flight_max=7).run()
    assert max(open_) == 7
    assert {each.name: each for each in content.topics} == written


Taken = Callable[..., None]


def test_topics_that_vanish_meanwhile_are_left_out(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics deleted after the listing, deleted after the read, and recreated without states."""
    for number, name in enumerate(("listed", "read", "anew", "stays")):
        write_topic(kafka, topic(name, number))
    take_topics, take_topic = Gathering._take_topics, Gathering._take_topic

    def topics_taken(self: Gathering, branch: str, names: list[str]) -> None:
        kafka.delete(f"{TOPICS}/listed")
        take_topics(self, branch, names)

    def topic_taken(self: Gathering, name: str, data: bytes | None, stat: Any) -> None:
        if name in {"read", "anew"}:
            kafka.delete(f"{TOPICS}/{name}")
        if name == "anew":
            write_topic(kafka, topic(name, 77, leader=None))
        take_topic(self, name, data, stat)

    monkeypatch.setattr(Gathering, "_take_topics", topics_taken)
    monkeypatch.setattr(Gathering, "_take_topic", topic_taken)
    content = ContentReading(Ensemble(connect=connect)).run()
    assert content.topics == (topic("stays", 3),)
    assert content.unreadable == ()


def test_nothing_is_read_until_it_makes_sense(kafka: Writer, connect: str) -> None:
    kafka.create(f"{BROKER_IDS}/1", b"{}")
    sense = Sense()
    with comparing(connect, should_read=sense) as compared:
        compared.until(lambda: sense.asked > 1)
        assert compared.reported() == []
        sense.holds = True
        compared.until_reported()


def test_a_comparison_has_a_name_of_its_own_whatever_the_clock_says(
    kafka: Writer, connect: str
) -> None:
    kafka.create(f"{BROKER_IDS}/1", b"{}")
    clock = iter(range(1000, 0, -1))
    with comparing(connect, clock=lambda: next(clock)) as compared:
        first = compared.until_reported(1)
        all_touched(compared)
        second = compared.until_reported(2)
    assert second[0].comparison > first[0].comparison


def test_it_reads_again_by_itself(kafka: Writer, connect: str) -> None:
    kafka.create(f"{BROKER_IDS}/1", b"{}")
    with comparing(connect, interval_s=0.1) as compared:
        compared.until_reported(3)


def test_facts_that_are_not_kept_are_read_again(kafka: Writer, connect: str) -> None:
    kafka.create(f"{BROKER_IDS}/1", b"{}")
    compared = Compared(connect)
    compared.refuse = OSError("no space left")
    with compared.reader:
        compared.until_abandoned("no space left")
        assert compared.reported() == []
        compared.refuse = None
        all_touched(compared)
        compared.until_reported()
        compared.until(lambda: compared.reader.error is None)


def test_what_nobody_foresaw_is_told_and_tried_again(
    kafka: Writer, connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.create(f"{BROKER_IDS}/1", b"{}")
    with monkeypatch.context() as broken, comparing(connect) as compared:
        compared.until_reported()
        broken.setattr(Gathering, "_take_brokers", lambda *_: 1 / 0)
        all_touched(compared)
        compared.until_abandoned("ZeroDivisionError")
        broken.undo()
        all_touched(compared)
        compared.until_reported(2)


def test_a_reader_is_started_once(connect: str) -> None:
    with comparing(connect) as compared, pytest.raises(RuntimeError, match="once"):
        compared.reader.start()


def test_the_source_reads_it_once_kraft_writes_to_zookeeper(
    kafka: Writer, connect: str, tmp_path: Path
) -> None:
    written = topic("t", 5)
    write_topic(kafka, written)
    kafka.create(
        CONTROLLER, b'{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}'
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
        kafka.set(
            CONTROLLER, b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":1}'
        )
        before = int(kafka.client.exists(CONTROLLER).mzxid)
        kafka.create(
            MIGRATION,
            b'{"version":0,"kraft_metadata_offset":9,"kraft_controller_id":3000,'
            b'"kraft_metadata_epoch":1,"kraft_controller_epoch":1}',
        )
        told: list[Any] = []
        while not (told and isinstance(told[-1], ZkContentRead)):
            assert news.wait(30), status()
            news.clear()
            told = [unpack(fact) for _, _, fact in read(journal.path, 0, journal.last)]
        assert told[-1].zxid > before
        assert topics_of(told[-SHARDS - 1 :]) == {"t": written}
        assert status().waiting is None
    finally:
        held.close()
        journal.close()
