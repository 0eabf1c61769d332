"""A snapshot of all disks: everything readable is in it once, in the shard of its topic."""

import zlib
from collections import Counter
from random import Random

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migration.comparison.differences import Comparisons
from migration.comparison.log_dirs import against_disks
from migration.comparison.result import Compared, Comparing, take
from migration.metadata.events import Source
from migration.observed.facts import DiskContentSeen, ReplicaOnDisk, TopicOnDisk
from migration.shard.placement import SHARDS, shard_numbers
from streams.kafka.broker_values import ReplicaPlace
from streams.log_dirs.content_snapshots import (
    NO_ID,
    BrokerContent,
    contents,
    place_of,
    topic_ids_of,
)
from streams.state.fact_codec import pack, unpack
from tests.migration.comparison.test_comparison import ID, Topic, logged, numbers
from tests.streams.log_dirs.world import A, B, place

IDS = {"t": bytes(15) + b"\x25", "u": bytes(15) + b"\x07"}
WELL = BrokerContent(2, {A: (place(0), place(1)), B: (place(0, "u"),)}, whole=True)


def by_shard(facts: tuple[DiskContentSeen, ...]) -> dict[int, DiskContentSeen]:
    return {each.shard: each for each in facts}


def test_every_shard_gets_a_fact_of_the_same_comparison() -> None:
    facts = contents("c", [], {}, 7000)
    assert [each.shard for each in facts] == list(shard_numbers("c"))
    assert {each[:2] + each[3:] for each in facts} == {(7000, 7000, (), (), (), ())}


def test_a_topic_is_in_the_shard_of_its_id() -> None:
    facts = by_shard(contents("c", [WELL], IDS, 7000))
    numbers = shard_numbers("c")
    here = ReplicaOnDisk(0, 0, future=False, lag=0)
    assert facts[numbers[0x25 % SHARDS]].topics == (
        TopicOnDisk(IDS["t"], "t", (here, here._replace(partition=1))),
    )
    assert facts[numbers[7]].topics == (TopicOnDisk(IDS["u"], "u", (here._replace(path=1),)),)
    assert {each.paths for each in facts.values()} == {((2, A), (2, B))}
    assert sum(len(each.topics) for each in facts.values()) == 2


def test_a_topic_without_an_id_is_in_the_shard_of_its_name() -> None:
    facts = by_shard(contents("c", [WELL], {"u": IDS["u"]}, 7000))
    number = shard_numbers("c")[zlib.crc32(b"t") % SHARDS]
    assert [each.name for each in facts[number].topics if each.topic_id == NO_ID] == ["t"]


def lasting(*snapshots: tuple[DiskContentSeen, ...]) -> dict[str, int]:
    """Compare the topic `t` of the metadata log with the snapshots; return what lasts."""
    return dict(compared(*snapshots).lasting)


def compared(*snapshots: tuple[DiskContentSeen, ...]) -> Compared:
    here, nothing = place_of(ID, "t"), dict[bytes, Topic]()
    kept, found = [Comparisons() for _ in range(SHARDS)], Comparing()
    for facts in snapshots:
        parts = [
            (number, against_disks(logged() if number == here else nothing, numbers(), *of))
            for number, of in enumerate(zip(kept, facts, strict=True))
        ]
        found, _ = take(found, parts, SHARDS, Source.LOG_DIRS)
    return found.last


def test_a_topic_that_metadata_does_not_list_is_neither_missing_nor_stray() -> None:
    """METADATA lists no topic without DESCRIBE on it; DescribeLogDirs has its replicas."""
    logs = {A: (place(0), place(0, "deleted"))}
    brokers = [BrokerContent(each, logs, whole=True) for each in (1, 2)]
    facts = contents("c", brokers, {}, 7000)
    assert {each.without_id for each in facts} == {("deleted", "t")}
    found = compared(facts, facts)
    assert (found.unlisted, found.lasting) == (("t",), {"stray": 2})
    assert [each.subject for each in found.named] == ["deleted-0", "deleted-0"]


def test_a_replica_that_was_missing_remains_so_while_metadata_does_not_list_its_topic() -> None:
    one = BrokerContent(1, {A: (place(0),)}, whole=True)
    other = BrokerContent(2, {A: ()}, whole=True)
    listed = contents("c", [one, other], {"t": ID}, 7000)
    unlisted = contents("c", [one, other], {}, 8000)
    assert lasting(listed, listed, unlisted) == {"missing": 1}
    assert lasting(listed, unlisted, unlisted) == {}
    whole = contents("c", [one, other._replace(log_dirs={A: (place(0),)})], {"t": ID}, 9000)
    assert lasting(listed, listed, unlisted, whole) == {}


def test_a_fact_of_an_earlier_version_names_no_topic_without_an_id() -> None:
    fact = contents("c", [WELL], IDS, 7000)[0]
    packed = msgpack.packb(("DiskContentSeen", tuple(fact)[:-1]))
    assert unpack(packed) == fact


def test_the_metadata_log_is_no_topic() -> None:
    broker = BrokerContent(2, {A: (place(0, "__cluster_metadata"),)}, whole=True)
    assert not any(each.topics for each in contents("c", [broker], {}, 7000))


@pytest.mark.parametrize(("future", "lag"), [(True, 33), (False, 0)])
def test_only_a_future_replica_has_a_lag(future: bool, lag: int) -> None:
    """KIP-113, "Scripts": `offset_lag` and `is_temporary`, shipped as `isFuture`."""
    broker = BrokerContent(2, {A: (ReplicaPlace("t", 0, 10, 33, future),)}, whole=True)
    (topic,) = (t for each in contents("c", [broker], IDS, 7000) for t in each.topics)
    assert topic.replicas == (ReplicaOnDisk(0, 0, future, lag),)


def test_topic_ids_are_bytes() -> None:
    told = [(("t", 0), "00" * 15 + "25"), (("t", 1), "00" * 15 + "25"), (("old", 0), None)]
    assert topic_ids_of(told) == {"t": IDS["t"]}


NAMES = st.sampled_from(["t", "u", "ü", "__consumer_offsets"])
REPLICAS = st.builds(
    ReplicaPlace,
    topic=NAMES,
    partition=st.integers(0, 5),
    bytes=st.integers(0, 9),
    lag=st.integers(-1, 9),
    future=st.booleans(),
)
LOG_DIRS = st.dictionaries(st.sampled_from([A, B, "/c"]), st.lists(REPLICAS).map(tuple))
BROKERS = st.dictionaries(st.integers(0, 4), st.tuples(LOG_DIRS, st.booleans())).map(
    lambda drawn: [BrokerContent(id_, *each) for id_, each in drawn.items()]
)
TOPIC_IDS = st.dictionaries(NAMES, st.binary(min_size=16, max_size=16))


@settings(deadline=None)
@given(BROKERS, TOPIC_IDS, st.randoms())
def test_each_readable_replica_is_in_one_shard_and_no_other_is(
    brokers: list[BrokerContent], ids: dict[str, bytes], order: Random
) -> None:
    lying = Counter(
        (each.broker, path, r.topic, r.partition, r.future, r.lag if r.future else 0)
        for each in brokers
        for path, replicas in each.log_dirs.items()
        for r in replicas
    )
    facts = contents("c", brokers, ids, 7000)
    found = Counter(
        (*fact.paths[r.path], topic.name, r.partition, r.future, r.lag)
        for fact in facts
        for topic in fact.topics
        for r in topic.replicas
    )
    assert found == lying
    names = [topic.name for fact in facts for topic in fact.topics]
    assert len(names) == len(set(names))
    for place_, fact in enumerate(facts):
        for topic in fact.topics:
            assert topic.topic_id == ids.get(topic.name, NO_ID)
            last = (
                zlib.crc32(topic.name.encode()) if topic.topic_id == NO_ID else topic.topic_id[-1]
            )
            assert last % SHARDS == place_
        assert fact.whole == tuple(sorted(each.broker for each in brokers if each.whole))
        without_id = (each for each in names if ids.get(each, NO_ID) == NO_ID)
        assert fact.without_id == tuple(sorted(without_id))
        assert unpack(pack(fact)) == fact
    order.shuffle(brokers)
    assert contents("c", brokers, ids, 7000) == facts
