"""Unread ZooKeeper content is neither equal nor different; earlier differences remain."""

from dataclasses import replace

from migration.comparison.differences import Comparisons, ShardComparison
from migration.comparison.result import Comparing, take
from migration.comparison.zookeeper import against_zookeeper
from migration.metadata.events import Source
from migration.observed.facts import ZkConfig, ZkContentSeen
from tests.migration.comparison.test_comparison import ID, Topic, logged, part, zk_topic, zookeeper

WHY = "its content is not JSON"


def without(seen: ZkContentSeen, *paths: str) -> ZkContentSeen:
    return seen._replace(unreadable=tuple((path, WHY) for path in paths))


def test_a_topic_that_cannot_be_read_is_not_absent() -> None:
    kept = Comparisons()
    for comparison in (1, 2):
        seen = without(zookeeper(comparison), "/brokers/topics/t")
        found = against_zookeeper(logged(), {}, kept, seen)
        assert (found.compared, found.differing) == (0, 0)
        assert (found.unreadable, found.unread) == (1, (("/brokers/topics/t", WHY),))
    other = without(zookeeper(3), "/brokers/topics/u")
    assert against_zookeeper(logged(), {}, kept, other).differing == 1
    assert against_zookeeper(logged(), {}, kept, zookeeper(4, zk_topic())).unreadable == 0


def test_what_differed_stands_while_it_cannot_be_read() -> None:
    kept = Comparisons()
    for comparison in (1, 2):
        against_zookeeper(logged(), {}, kept, zookeeper(comparison, zk_topic(leader=2, isr=(2,))))
    blind = zookeeper(3, zk_topic(leader=None, isr=()))
    no_state = without(blind, "/brokers/topics/t/partitions/0/state")
    assert against_zookeeper(logged(), {}, kept, no_state).lasting == {"isr": 1, "leader": 1}
    nothing = without(zookeeper(4), "/brokers/topics/t")
    assert against_zookeeper(logged(), {}, kept, nothing).lasting == {"isr": 1, "leader": 1}
    assert against_zookeeper(logged(), {}, kept, zookeeper(5, zk_topic())).differing == 0


def test_what_was_seen_once_does_not_stand_because_it_cannot_be_read() -> None:
    kept = Comparisons()
    against_zookeeper(logged(), {}, kept, zookeeper(1, zk_topic(leader=2)))
    blind = without(zookeeper(2), "/brokers/topics/t")
    assert against_zookeeper(logged(), {}, kept, blind).differing == 0


def test_settings_that_cannot_be_read_are_left_out() -> None:
    in_log = {(2, "t"): {"a": b"1"}, (4, ""): {"d": b"4"}, (-1, "user 'a b'"): {"e": b"5"}}
    paths = (
        "/config/topics/t",
        "/config/brokers/<default>",
        "/config/users/a%20b",
        "/brokers/ids/x",
    )
    blind = without(zookeeper(1), *paths)
    assert against_zookeeper({}, in_log, Comparisons(), blind).differing == 0
    one = without(zookeeper(1), paths[0])
    assert against_zookeeper({}, in_log, Comparisons(), one).differing == 2
    kept = Comparisons()
    for comparison in (1, 2):
        against_zookeeper({}, in_log, kept, zookeeper(comparison))
    blind = without(zookeeper(3), *paths)
    found = against_zookeeper({}, in_log, kept, blind)
    assert (found.lasting, found.unreadable) == ({"config": 3}, 4)


def test_what_could_not_be_read_of_other_topics_is_not_known_either() -> None:
    kept = Comparisons()
    topics = logged() | {bytes(16): Topic("u")}
    paths = ("/brokers/topics/t", "/config/topics/t", "/config/brokers/1")
    against_zookeeper(topics, {}, kept, without(zookeeper(1), *paths))
    only_u = zookeeper(2)._replace(names=("u",))
    found = against_zookeeper(topics, {}, kept, only_u)
    assert [path for path, _ in found.unread] == sorted(paths)
    only_t = zookeeper(3, zk_topic())._replace(names=("t",), configs=(ZkConfig("topics", "t", ()),))
    found = against_zookeeper(topics, {}, kept, only_t)
    assert [path for path, _ in found.unread] == ["/config/brokers/1"]
    assert topics[ID].name == "t"


def test_it_is_told_once_and_so_is_its_end() -> None:
    def in_part(comparison: int) -> ShardComparison:
        unread = (("/brokers/topics/t", WHY),) if comparison < 3 else ()
        return replace(part(comparison), unread=unread, unreadable=2 * len(unread))

    state, told = Comparing(), []
    for comparison in range(1, 5):
        parts = [(shard, in_part(comparison)) for shard in (0, 1)]
        state, events = take(state, parts, 2, Source.ZOOKEEPER)
        told.append([(event.kind, event.fields.get("path")) for event in events])
        # Every shard receives all of them.
        assert (state.last.unreadable, len(state.last.unread)) == (
            (2, 1) if comparison < 3 else (0, 0)
        )
    assert told == [
        [("znode_not_compared", "/brokers/topics/t")],
        [],
        [("znodes_compared_again", None)],
        [],
    ]


def test_of_quotas_that_are_closed_stands_what_was_found_before() -> None:
    in_log = {(-1, "user 'a'"): {"e": b"5"}, (4, "1"): {"d": b"4"}}
    kept = Comparisons()
    for comparison in (1, 2):
        against_zookeeper({}, in_log, kept, zookeeper(comparison))
    closed = zookeeper(3)._replace(
        closed=("quotas",), configs=(ZkConfig("brokers", "1", (("d", b"4"),)),)
    )
    found = against_zookeeper({}, in_log, kept, closed)
    assert (found.lasting, found.closed) == ({"config": 1}, ("quotas",))
    assert [each.subject for each in found.named] == ["quotas of user 'a': e"]
