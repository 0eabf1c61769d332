"""Single topics are compared as they change: what that says of them, and of all the others."""

from hypothesis import given
from hypothesis import strategies as st

from migration.comparison.differences import LASTS_MS, Comparisons, Difference
from migration.comparison.zookeeper import against_zookeeper
from migration.metadata.partitions import Replicas
from migration.observed.facts import ZkConfig, ZkContentSeen, ZkPartition, ZkTopic
from tests.migration.comparison.test_comparison import ID, Topic, logged, zk_topic, zookeeper


def test_a_difference_counts_when_two_readings_ten_seconds_apart_found_it() -> None:
    """From the end of the first to the beginning of the one that confirms it."""

    def lasting(*readings: tuple[int, int]) -> list[int]:
        kept = Comparisons()
        found = []
        for began_ms, ended_ms in readings:
            seen = ZkContentSeen(ended_ms, began_ms, 0, (zk_topic(leader=2),), ())
            result = against_zookeeper(logged(), {}, kept, seen)
            found.append(sum(result.lasting.values()))
        return found

    assert lasting((0, 5), (5, 9), (LASTS_MS + 4, LASTS_MS + 5)) == [0, 0, 0]
    assert lasting((0, 5), (5, 9), (LASTS_MS + 5, LASTS_MS + 6)) == [0, 0, 1]
    # Once it counts, it does until a reading does not find it, whatever the clock does.
    assert lasting((0, 5), (LASTS_MS + 5, LASTS_MS + 6), (7, 8)) == [0, 1, 1]


HOUR_MS = 3_600_000


def test_the_time_of_a_difference_begins_again_after_the_clock_was_set_back() -> None:
    """The number of a comparison does not decrease then, and is ahead of the clock."""
    at_ms = 10 * HOUR_MS
    back_ms = at_ms - HOUR_MS

    def lasting(*readings: tuple[int, int, int]) -> list[int]:
        kept = Comparisons()
        found = []
        for comparison, seen_ms, leader in readings:
            seen = ZkContentSeen(seen_ms, comparison, 0, (zk_topic(leader=leader),), ())
            result = against_zookeeper(logged(), {}, kept, seen)
            found.append(sum(result.lasting.values()))
        return found

    known = (at_ms, at_ms + 100, 2)
    later = [(at_ms + 1, back_ms, 2), (at_ms + 2, back_ms + LASTS_MS, 2)]
    assert lasting(known, *later) == [0, 0, 1]
    new = [(at_ms + 1, back_ms, 2), (at_ms + 2, back_ms + 1000, 2)]
    assert lasting((at_ms, at_ms + 100, 1), *new) == [0, 0, 0]


U = bytes([8] * 16)
TWO = {
    ID: Topic("t", {0: Replicas((1,), (0,), 1, (1,))}),
    U: Topic("u", {0: Replicas((1,), (0,), 1, (1,))}),
}


def of_topic(name: str, leader: int) -> ZkTopic:
    return ZkTopic({"t": ID, "u": U}[name], name, (ZkPartition(0, (1,), leader, (1,)),))


def leader_differs(name: str) -> Difference:
    return Difference("leader", f"{name}-0", "2", "1")


def test_of_topics_that_were_not_looked_at_stands_what_was_found_before() -> None:
    kept = Comparisons()
    configs = {(2, "u"): {"a": b"1"}, (4, "1"): {"b": b"1"}}
    both = (of_topic("t", 2), of_topic("u", 2))
    for comparison in (1, 2):
        whole = against_zookeeper(TWO, configs, kept, zookeeper(comparison, *both))
    assert whole.lasting == {"leader": 2, "config": 2}
    only_t = zookeeper(3, of_topic("t", 1))._replace(names=("t",))
    found = against_zookeeper(TWO, configs, kept, only_t)
    assert (found.lasting, found.differing) == ({"leader": 1, "config": 2}, 3)
    assert leader_differs("u") in found.named
    # When everything was read last, and what was compared then, is not changed by that.
    assert (found.whole_ms, found.compared) == (whole.seen_ms, whole.compared)
    only_u = zookeeper(4, of_topic("u", 1))._replace(
        names=("u",), configs=(ZkConfig("topics", "u", (("a", b"1"),)),)
    )
    assert against_zookeeper(TWO, configs, kept, only_u).lasting == {"config": 1}


def test_settings_that_are_closed_are_not_compared_and_named() -> None:
    kept = Comparisons()
    configs = {(2, "u"): {"a": b"1"}, (4, "1"): {"b": b"1"}}
    closed = [zookeeper(n, of_topic("t", 1), of_topic("u", 1)) for n in (1, 2, 3, 4)]
    closed = [each._replace(closed=("brokers",)) for each in closed]
    for seen in closed[:2]:
        found = against_zookeeper(TWO, configs, kept, seen)
    assert (found.lasting, found.differing, found.closed) == ({"config": 1}, 1, ("brokers",))
    assert found.whole_ms == closed[1].seen_ms
    # A reading of some topics says nothing of that.
    some = closed[2]._replace(names=("t",), topics=(of_topic("t", 1),), closed=())
    assert against_zookeeper(TWO, configs, kept, some).closed == ("brokers",)
    # What was found while they were open stands.
    kept = Comparisons()
    for seen in closed[:2]:
        against_zookeeper(TWO, configs, kept, seen._replace(closed=()))
    stands = against_zookeeper(TWO, configs, kept, closed[3])
    assert (stands.lasting, stands.closed) == ({"config": 2}, ("brokers",))


def test_what_was_found_once_does_not_count_because_another_topic_is_read() -> None:
    kept = Comparisons()
    against_zookeeper(TWO, {}, kept, zookeeper(1, of_topic("t", 2), of_topic("u", 2)))
    only_t = zookeeper(2, of_topic("t", 2))._replace(names=("t",))
    assert against_zookeeper(TWO, {}, kept, only_t).named == (leader_differs("t"),)
    assert against_zookeeper(
        TWO, {}, kept, zookeeper(3, of_topic("t", 2), of_topic("u", 2))
    ).named == (
        leader_differs("t"),
        leader_differs("u"),
    )


def test_a_topic_that_is_gone_is_found_by_its_name() -> None:
    kept = Comparisons()
    for comparison in (1, 2):
        gone = zookeeper(comparison)._replace(names=("t", "never was"))
        found = against_zookeeper(TWO, {}, kept, gone)
    assert found.named == (Difference("topic", "t", "absent", "present"),)
    # Of everything else nothing is known yet.
    assert found.whole_ms is None


LEADERS = st.fixed_dictionaries({"t": st.sampled_from([0, 1, 2]), "u": st.sampled_from([0, 1, 2])})


@given(st.lists(st.tuples(LEADERS, st.booleans(), st.booleans()), max_size=8))
def test_reading_what_changed_finds_what_reading_everything_would(
    steps: list[tuple[dict[str, int], bool, bool]],
) -> None:
    """A leader 0: the topic is not there. Whatever else is read, what changed is always read."""
    partly, whole = Comparisons(), Comparisons()
    before: dict[str, int] = {}
    for number, (now, everything, one_more) in enumerate(steps, 1):
        content = {name: of_topic(name, leader) for name, leader in now.items() if leader}
        names = {name for name in now if now[name] != before.get(name)}
        if one_more:
            names.add("u")
        all_of_it = zookeeper(number, *content.values())
        some = all_of_it._replace(
            names=tuple(sorted(names)),
            topics=tuple(content[name] for name in sorted(names & content.keys())),
        )
        found = against_zookeeper(TWO, {}, partly, all_of_it if everything else some)
        expected = against_zookeeper(TWO, {}, whole, all_of_it)
        assert found.differing == expected.differing
        # It may come to count later, when it is read again; never sooner, and never what is over.
        assert set(found.named) <= set(expected.named)
        before = now
