"""What becomes of topics in ZooKeeper is on the timeline, with both clocks."""

from typing import Any

from migration.image.cluster import ClusterImage
from migration.image.observe import observe
from migration.metadata.events import Source
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkConfigSeen,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicFact,
    ZkTopicsFound,
)

AT, SEEN = 7000, 7005


def observed(fact: ZkTopicFact) -> tuple[str, int | None, dict[str, object]]:
    _, (event,) = observe(ClusterImage(), [fact])
    assert (event.source, event.offset, event.seen_ms) == (Source.ZOOKEEPER, None, SEEN)
    return event.kind, event.timestamp_ms, dict(event.fields)


def topic(what: str, at_ms: int | None = AT, **fields: Any) -> ZkTopicChanged:
    none = {"was": None, "now": None, "moved": 0, "named": (), "why": None, "topic_id": "id"}
    return ZkTopicChanged(SEEN, what, at_ms, "t", **(none | fields))


def test_a_topic_appears_moves_and_vanishes() -> None:
    of = {"topic": "t", "topic_id": "id"}
    assert observed(topic("appeared", now=3)) == ("zk_topic_appeared", AT, of | {"partitions": 3})
    assert observed(topic("vanished", None, was=3)) == (
        "zk_topic_vanished",
        None,
        of | {"partitions": 3},
    )
    moved = topic("reassigned", was=2, now=3, moved=1, named=((1, (1, 2), (2, 3)),))
    assert observed(moved) == (
        "zk_topic_reassigned",
        AT,
        of
        | {
            "partitions": 3,
            "partitions_before": 2,
            "moved": 1,
            "replicas": ["1: [1, 2] -> [2, 3]"],
        },
    )


def test_what_says_nothing_is_named_by_its_path() -> None:
    unreadable = {"path": "/brokers/topics/t", "reason": "no"}
    assert observed(topic("unreadable", why="no")) == ("znode_unreadable", AT, unreadable)
    config = ZkConfigChanged(SEEN, AT, "t", (), gone=False, why="no")
    unreadable = {"path": "/config/topics/t", "reason": "no"}
    assert observed(config) == ("znode_unreadable", AT, unreadable)


def test_settings_are_told_by_their_keys() -> None:
    keys = {"topic": "t", "keys": ["a", "b"]}
    changed = ZkConfigChanged(SEEN, AT, "t", ("a", "b"), gone=False, why=None)
    assert observed(changed) == ("zk_config_changed", AT, keys)
    gone = changed._replace(at_ms=None, gone=True)
    assert observed(gone) == ("zk_config_gone", None, keys)


def test_what_was_found_first_and_what_was_counted_is_told_in_numbers() -> None:
    found = {"topics": 9, "partitions": 90}
    assert observed(ZkTopicsFound(SEEN, 9, 90)) == ("zk_topics_found", None, found)
    assert observed(ZkStatesChanged(SEEN, 5000, 800, 2, ("a", "b"))) == (
        "zk_partition_states_changed",
        None,
        {"changes": 800, "topics": 2, "named": ["a", "b"], "since_ms": 5000},
    )


def test_partitions_are_counted_from_the_first_reading_and_each_reading_corrects_the_count() -> (
    None
):
    changes: list[ZkTopicFact] = [
        topic("unreadable", why="no"),
        ZkTopicsFound(SEEN, 9, 90),
        topic("appeared", now=3),
        topic("reassigned", was=3, now=5),
        topic("unreadable", was=5, why="no"),
        topic("reassigned", now=5),
        topic("vanished", was=4),
        ZkTopicsFound(SEEN, 9, 80),
    ]
    counts, image = [], ClusterImage()
    for each in changes:
        image, events = observe(image, [each])
        assert image.zookeeper is not None
        counts.append(image.zookeeper.partitions)
    assert counts == [None, 90, 93, 95, 90, 95, 91, 80]
    assert not events, "the topics were found before"


def test_how_settings_stand_is_no_event() -> None:
    assert observe(ClusterImage(), [ZkConfigSeen(SEEN, "/config/topics/t", (), 0, 1)])[1] == ()
