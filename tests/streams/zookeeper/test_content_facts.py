"""Every shard gets its part of the content, in an order that does not depend on the reading's."""

import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import ZkConfig, ZkPartition, ZkTopic
from migration.shard.placement import SHARDS, place_of_name, place_of_topic, shard_numbers
from streams.state.fact_codec import pack, unpack
from streams.zookeeper.content.facts import Content, facts_of
from tests.streams.zookeeper.content import CLUSTER, parts

PARTITIONS = st.lists(
    st.builds(
        ZkPartition,
        partition=st.integers(0, 9),
        replicas=st.just((1, 2)),
        leader=st.none() | st.integers(-1, 2),
        isr=st.just((2,)),
    ),
    max_size=3,
)
TOPICS = st.lists(
    st.builds(
        ZkTopic,
        topic_id=st.binary(min_size=16, max_size=16),
        name=st.text(min_size=1, max_size=3),
        partitions=PARTITIONS.map(tuple),
    ),
    unique_by=lambda each: each.name,
)
CONFIGS = st.lists(
    st.builds(
        ZkConfig,
        entity=st.sampled_from(["topics", "brokers"]),
        name=st.sampled_from(["a", "b", "1", ""]),
        entries=st.just((("k", b"12345678"),)),
    ),
    unique_by=lambda each: (each.entity, each.name),
)


@given(topics=TOPICS, configs=CONFIGS, seed=st.integers())
def test_everything_goes_to_its_shard_once(
    topics: list[ZkTopic], configs: list[ZkConfig], seed: int
) -> None:
    content = Content(zxid=9, topics=tuple(topics), configs=tuple(configs), brokers=(2, 1))
    facts = facts_of(content, CLUSTER, 1000, 1007)
    seen, read = parts(facts)
    numbers = shard_numbers(CLUSTER)
    assert tuple(each.shard for each in seen) == numbers
    assert {(each.comparison, each.seen_ms) for each in facts} == {(1000, 1007)}
    for each in seen:
        assert all(numbers[topic.topic_id[-1] % SHARDS] == each.shard for topic in each.topics)
        assert all(
            numbers[zlib.crc32(c.name.encode()) % SHARDS] == each.shard for c in each.configs
        )
    dealt = [topic for each in seen for topic in each.topics]
    assert sorted(dealt) == sorted(topics)
    assert sorted(config for each in seen for config in each.configs) == sorted(configs)
    assert (read.zxid, read.brokers, read.topics) == (9, (1, 2), len(topics))
    assert read.partitions == sum(len(topic.partitions) for topic in topics)
    assert [unpack(pack(fact)) for fact in facts] == list(facts)
    shuffled = random.Random(seed)  # noqa: S311 an order, not a secret
    shuffled.shuffle(topics)
    shuffled.shuffle(configs)
    again = Content(zxid=9, topics=tuple(topics), configs=tuple(configs), brokers=(1, 2))
    assert facts_of(again, CLUSTER, 1000, 1007) == facts


def test_a_shard_without_anything_is_told_so() -> None:
    facts = facts_of(Content(zxid=1, topics=(), configs=(), brokers=()), CLUSTER, 5, 6)
    seen, read = parts(facts)
    assert len(seen) == SHARDS
    assert not any(each.topics or each.configs for each in seen)
    assert (read.topics, read.partitions) == (0, 0)


def test_the_places_are_part_of_the_contract() -> None:
    assert place_of_topic(bytes(15) + b"\x25") == 5
    assert place_of_name("t") == zlib.crc32(b"t") % SHARDS


def test_what_says_nothing_is_told_to_every_shard() -> None:
    unreadable = tuple((f"/brokers/topics/t{number}", "it is empty") for number in (2, 1))
    content = Content(zxid=1, topics=(), configs=(), brokers=(), unreadable=unreadable)
    seen, _ = parts(facts_of(content, CLUSTER, 5, 6))
    assert all(each.unreadable == tuple(sorted(unreadable)) for each in seen)
