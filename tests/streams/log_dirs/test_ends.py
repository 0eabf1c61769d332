"""When a lower end offset is a loss, and when it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.observed.facts import OffsetsFell
from streams.kafka.broker_values import ClusterView, PartitionEnd, PartitionOffset, PartitionView
from streams.log_dirs.log_ends import (
    compare_ends,
    confirmed,
    count_replicas,
    is_suspect,
    leader_ends,
)
from streams.log_dirs.remembered import KnownPartition

KEY = ("t", 0)
EMPTY: dict[tuple[str, int], KnownPartition] = {}
KNOWN = {KEY: KnownPartition(2, "id", 100, 500, 1, 3)}


def end(
    offset: int, *, epoch: int = 3, topic_id: str = "id", start: int | None = 0
) -> PartitionEnd:
    return PartitionEnd("t", 0, topic_id, start, offset, epoch, 2)


def view(topic_id: str | None = "id") -> ClusterView:
    return ClusterView("c", {}, {KEY: PartitionView("t", 0, topic_id, 2, 3, (1, 2), (2,))}, {})


def test_a_fall_is_told_with_both_sides() -> None:
    found = compare_ends(KNOWN.get, [end(40, start=7)], 900)
    assert found.facts == (OffsetsFell(900, "t", 0, 2, 100, 500, 7, 40),)
    assert found.changed == {KEY: KnownPartition(2, "id", 40, 900, 2, 3)}


def test_it_is_told_once() -> None:
    found = compare_ends(KNOWN.get, [end(40)], 900)
    assert compare_ends(found.changed.get, [end(40)], 901) == ((), {})


@pytest.mark.parametrize(
    "harmless",
    [
        end(100),
        end(101),
        end(40, topic_id="another topic of that name"),
        end(40, epoch=2),
        end(40, start=None),
    ],
    ids=["the same", "more", "created again", "a deposed leader", "not confirmed"],
)
def test_what_is_no_loss(harmless: PartitionEnd) -> None:
    assert compare_ends(KNOWN.get, [harmless], 900).facts == ()


def test_the_first_end_is_remembered() -> None:
    found = compare_ends(EMPTY.get, [end(5)], 900)
    assert found == ((), {KEY: KnownPartition(0, "id", 5, 900, 2, 3)})


def test_when_the_end_was_first_seen_is_kept() -> None:
    found = compare_ends(KNOWN.get, [end(100, epoch=4)], 900)
    assert found.changed[KEY].seen_ms == 500
    assert found.changed[KEY].leader_epoch == 4


def test_a_moved_start_is_no_loss() -> None:
    assert compare_ends(KNOWN.get, [end(100, start=100)], 900).facts == ()


@pytest.mark.parametrize("error", [6, 5, 78, 3], ids=str)
def test_what_has_an_error_says_nothing(error: int) -> None:
    assert leader_ends(view(), [PartitionOffset("t", 0, error, -1, None)], 2) == []


def test_what_has_no_topic_id_or_epoch_says_nothing() -> None:
    assert leader_ends(view(None), [PartitionOffset("t", 0, 0, 9, 3)], 2) == []
    assert leader_ends(view(), [PartitionOffset("t", 0, 0, 9, None)], 2) == []
    assert leader_ends(view(), [PartitionOffset("t", 0, 0, 9, 3)], 2) == [end(9, start=None)]


def test_a_suspect_is_confirmed_by_the_same_id_afterwards() -> None:
    latest = [PartitionOffset("t", 0, 0, 40, 3)]
    starts = [PartitionOffset("t", 0, 0, 7, 3)]
    assert confirmed([end(40)], view(), starts, latest, 2) == [end(40, start=7)]
    assert confirmed([end(40)], view("created again"), starts, latest, 2) == []
    assert confirmed([end(40)], ClusterView("c", {}, {}, {}), starts, latest, 2) == []
    failed = [PartitionOffset("t", 0, 6, -1, None)]
    assert confirmed([end(40)], view(), failed, latest, 2) == []


def test_what_is_suspect() -> None:
    assert is_suspect(KNOWN[KEY], end(40))
    assert is_suspect(KNOWN[KEY], end(400, topic_id="another"))
    assert not is_suspect(KNOWN[KEY], end(40, epoch=2))
    assert not is_suspect(KNOWN[KEY], end(100))
    assert not is_suspect(None, end(40))


def test_replicas_are_counted_when_their_number_changes() -> None:
    partition = view().partitions[KEY]
    assert count_replicas(KNOWN.get, [partition]) == {}
    more = partition._replace(replicas=(1, 2, 3))
    assert count_replicas(KNOWN.get, [more]) == {KEY: KNOWN[KEY]._replace(replicas=3)}
    assert count_replicas(EMPTY.get, [partition]) == {KEY: KnownPartition(2)}


ENDS = st.lists(
    st.builds(
        end,
        st.integers(0, 50),
        epoch=st.integers(0, 3),
        topic_id=st.sampled_from(["id", "id", "id", "another"]),
        start=st.sampled_from([0, 0, None]),
    )
)


@given(ENDS)
def test_every_fall_is_from_the_largest_end_since_the_last(ends: list[PartitionEnd]) -> None:
    known: dict[tuple[str, int], KnownPartition] = {}
    largest: int | None = None
    for now_ms, each in enumerate(ends):
        found = compare_ends(known.get, [each], now_ms)
        before, after = known.get(KEY), found.changed.get(KEY, known.get(KEY))
        assert after is not None
        same = before is not None and before.topic_id == each.topic_id
        for fact in found.facts:
            assert same
            assert fact.was_end == largest
            assert fact.now_end < fact.was_end
            assert after.end_offset == fact.now_end
        if not same or found.facts:
            largest = each.end
        elif before is not None and each.leader_epoch >= before.leader_epoch:
            largest = max(largest or 0, each.end)
            assert after.leader_epoch >= before.leader_epoch
        assert after.end_offset == largest
        known.update(found.changed)
