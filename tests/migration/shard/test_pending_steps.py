"""How pending replicas moved between barriers, against the same counted one row at a time."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.shard.transitions import (
    ABSENT,
    ASSIGNED_STATE,
    LOST_STATE,
    MIGRATING_STATE,
    RESERVED_STATE,
    UNASSIGNED_STATE,
    PendingSteps,
    place,
)

_BROKERS = st.sampled_from([0, 1, 2**23 - 1, 2**23, 2**31 - 1]) | st.integers(0, 2**31 - 1)
_OFFSETS = st.integers(0, 20) | st.integers(2**40 - 2, 2**40 + 2) | st.integers(0, 2**63 - 2)
_PENDING, _ASSIGNED = place(1, UNASSIGNED_STATE), place(3, ASSIGNED_STATE)
_MIGRATING = place(0, MIGRATING_STATE)
_ALL_PENDING = (_PENDING, _MIGRATING, place(2, LOST_STATE), place(4, RESERVED_STATE))
"""KIP-858, "Reserved UUIDs": no id below 100 is a directory."""
_PLACES = st.sampled_from([ABSENT, *_ALL_PENDING, _ASSIGNED])
_ROWS = st.lists(
    st.tuples(_OFFSETS, st.integers(1, 9), st.just(0), st.just(0), _BROKERS, _PLACES, _PLACES),
    min_size=1,
    max_size=12,
).map(sorted)
_END = 2**63 - 1


def _counted(
    rows: Sequence[tuple[int, ...]], barriers: Mapping[int, Sequence[int]], ends: Sequence[int]
) -> dict[tuple[int, int], tuple[int, int, int]]:
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    for offset, _, _, _, broker, was, now in rows:
        step = (now in _ALL_PENDING) - (was in _ALL_PENDING)
        stays = (now == _MIGRATING) - (was == _MIGRATING)
        if step or stays:
            at = min(each for each in (*barriers.get(broker, ()), *ends) if each > offset)
            net, assigned, migrating = found.get((at, broker), (0, 0, 0))
            done = step < 0 and now == _ASSIGNED
            found[at, broker] = (net + step, assigned + done, migrating + stays)
    return found


@given(_ROWS, st.data())
def test_movements_are_those_of_each_broker_before_its_next_barrier(
    rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    brokers = sorted({row[4] for row in rows})
    barriers = {each: data.draw(st.lists(_OFFSETS, max_size=3)) for each in brokers}
    ends = [*data.draw(st.lists(_OFFSETS, max_size=2)), _END]
    found = PendingSteps(np.array(rows, dtype=np.int64)).movements(barriers, ends)
    assert {
        key: (each.net, each.assigned, each.migrating) for key, each in found.items()
    } == _counted(rows, barriers, ends)


@pytest.mark.parametrize("broker", [0, 8_388_607, 8_388_608, 167_772_161, 2**31 - 1])
def test_an_id_made_of_an_ip_address_is_an_id_like_any_other(broker: int) -> None:
    rows = np.array([(5, 7, 0, 0, broker, _PENDING, _ASSIGNED)], dtype=np.int64)
    steps = PendingSteps(rows)
    ((at, of), movement), *rest = steps.movements({broker: [9]}, [20]).items()
    assert (at, of, movement.net, movement.assigned, rest) == (9, broker, -1, 1, [])
    pending = {broker: 1}
    assert [each.broker for each in steps.crossings(pending)] == [broker]
    assert pending == {}


def test_a_pending_replica_that_stays_pending_crosses_nothing() -> None:
    rows = np.array([(5, 7, 0, 0, 1, _MIGRATING, _PENDING)], dtype=np.int64)
    pending = {1: 1}
    assert PendingSteps(rows).crossings(pending) == []
    assert pending == {1: 1}
