"""Rates and counts over time from transitions: as a slow count of the same rows has them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.metadata.directory_ids import MIGRATING, UNASSIGNED
from migration.metadata.replica_state import ReplicaState
from migration.shard.transitions import ABSENT, STATES, Numbers
from orchestrator.views.report.accounts.assignments import MOMENTS_MAX, Assigned, series
from streams.spark.transition_files import (
    TransitionColumns,
    TransitionsUnreadable,
    read_transitions,
    write_transitions,
)
from tests.orchestrator.views.report.making import DIRECTORY, Made, T, _place, finalized, now
from tests.orchestrator.views.report.night import registered
from tests.orchestrator.views.report.reporting import report_of

M, U, A, OFF, L, R = (STATES.index(each) for each in ReplicaState)
Row = tuple[int, int, int, int, int]
"""Offset, ms, broker, state before and after by their numbers."""


def made(rows: Sequence[Row], log: int = 1) -> TransitionColumns:
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return TransitionColumns(
        logs=np.full(len(table), log),
        offsets=table[:, 0],
        at_ms=np.maximum.accumulate(table[:, 1]) if len(table) else table[:, 1],
        brokers=table[:, 2],
        was=table[:, 3],
        now=table[:, 4],
    )


def test_the_states_are_numbered_as_this_file_thinks() -> None:
    assert [str(STATES[each]) for each in (M, U, A, OFF, L, R)] == [
        "migrating", "unassigned", "assigned", "offline", "lost", "reserved",
    ]  # fmt: skip


def test_a_rate_spans_from_the_first_moment_to_the_last() -> None:
    rows = [(10 + n, 1_000 + 250 * (n // 2), 1, M, A) for n in range(8)]
    found = Assigned(made(rows)).of(1, 1, 0, None)
    assert found is not None
    assert (found.assigned, found.first_at, found.last_at) == (8, 1_000, 1_750)
    assert found.rate_per_second == 10.667  # all eight, in 750 ms
    assert found.longest_pause_ms == 250
    assert found.busiest_second == 8


def test_all_at_one_moment_have_no_rate() -> None:
    found = Assigned(made([(10, 5, 1, M, A), (11, 5, 1, U, A)])).of(1, 1, 0, None)
    assert found is not None
    assert (found.assigned, found.rate_per_second, found.longest_pause_ms) == (2, None, 0)


def test_only_those_of_the_registration_count() -> None:
    rows = [(10, 1, 1, M, A), (20, 2, 1, U, A), (30, 3, 1, U, A), (30, 3, 2, U, A)]
    of = Assigned(made(rows)).of
    counts = [of(1, 1, 0, 20), of(1, 1, 20, 30), of(1, 1, 20, None), of(2, 1, 0, None)]
    assert [each.assigned for each in counts if each is not None] == [1, 1, 2, 1]
    assert of(3, 1, 0, None) is None
    assert of(1, 2, 0, None) is None


def test_a_replica_that_comes_with_a_directory_or_goes_was_not_assigned() -> None:
    rows = [(10, 1, 1, ABSENT, A), (11, 1, 1, A, ABSENT), (12, 1, 1, M, ABSENT), (13, 1, 1, A, OFF)]
    assert Assigned(made(rows)).of(1, 1, 0, None) is None


def test_one_that_is_told_to_lie_in_a_failed_directory_was_assigned() -> None:
    found = Assigned(made([(10, 1, 1, M, OFF)])).of(1, 1, 0, None)
    assert found is not None
    assert found.assigned == 1


PENDING = {M, U, L, R}
places = st.sampled_from([ABSENT, M, U, A, OFF, L, R])
rows_of = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 5_000), st.integers(1, 3), places, places),
    min_size=1,
    max_size=60,
)


@given(rows_of)
def test_counts_over_time_are_those_of_a_slow_count(drawn: list[Row]) -> None:
    found = made(sorted(drawn))
    counted = series(found, 1_000, 4_000)
    assert counted is not None
    assert len(counted.at) <= MOMENTS_MAX + 2
    assert counted.at == tuple(sorted(set(counted.at)))
    brokers = sorted({int(each) for each in found.brokers})
    assert [each.id for each in counted.brokers] == brokers
    for number, moment in enumerate(counted.at):
        assert counted.assigned[number] == _slow(found, moment, {A})
        assert counted.pending[number] == _slow(found, moment, PENDING)
        assert counted.unusable[number] == _slow(found, moment, {OFF})
        for each in counted.brokers:
            assert each.pending[number] == _slow(found, moment, PENDING, each.id)


def _slow(
    found: TransitionColumns, moment: int, states: set[int], broker: int | None = None
) -> int:
    columns = zip(found.at_ms, found.brokers, found.was, found.now, strict=True)
    return sum(
        (int(now) in states) - (int(was) in states)
        for at_ms, of, was, now in columns
        if at_ms <= moment and broker in (None, int(of))
    )


def test_a_step_is_a_step_however_long_the_window() -> None:
    rows = [(n, 3_600_000, 1, ABSENT, A) for n in range(50)]
    counted = series(made(rows), 0, 36_000_000)
    assert counted is not None
    at = dict(zip(counted.at, counted.assigned, strict=True))
    assert (at[3_599_999], at[3_600_000]) == (0, 50)


def test_without_transitions_or_a_window_there_is_no_series() -> None:
    assert series(made([]), 0, 10) is None
    assert series(made([(1, 1, 1, ABSENT, A)]), 10, 10) is None


def written(folder: Path, rows: Sequence[Row], log: int, shard: int) -> str:
    table = np.array(
        [
            (offset, T + ms, 0, number, broker, _code(was), _code(now))
            for number, (offset, ms, broker, was, now) in enumerate(rows)
        ],
        dtype=np.int64,
    )
    ids, named = [MIGRATING, UNASSIGNED, DIRECTORY], [(bytes(16), "orders")]
    until = (log, int(table[:, 0].max()))
    return str(
        write_transitions(folder, "prod", shard, until, table, named, ids).relative_to(folder)
    )


def _code(state: int) -> int:
    return _place(None if state == ABSENT else STATES[state])


def test_what_was_written_is_read_in_the_order_of_the_logs(tmp_path: Path) -> None:
    later = written(tmp_path, [(5, 9_000, 2, ABSENT, M)], 2, 0)
    one = written(tmp_path, [(10, 100, 1, ABSENT, M), (30, 300, 1, M, A)], 1, 0)
    other = written(tmp_path, [(20, 200, 1, ABSENT, U), (40, 400, 1, U, OFF)], 1, 7)
    found = read_transitions(tmp_path, [later, one, other])
    assert found.offsets.tolist() == [10, 20, 30, 40, 5]
    assert found.logs.tolist() == [1, 1, 1, 1, 2]
    assert (found.at_ms - T).tolist() == [100, 200, 300, 400, 9_000]
    assert found.was.tolist() == [ABSENT, ABSENT, M, U, ABSENT]
    assert found.now.tolist() == [M, U, A, OFF, M]


def test_the_end_of_a_log_is_not_before_its_records(tmp_path: Path) -> None:
    """Where another log begins, replicas go away at offset -1, at a time that may not be known."""
    first = written(tmp_path, [(10, 100, 1, ABSENT, A)], 1, 0)
    second = written(tmp_path, [(-1, -T, 1, A, ABSENT), (3, 500, 1, ABSENT, M)], 2, 0)
    found = read_transitions(tmp_path, [second, first])
    assert (found.at_ms - T).tolist() == [100, 100, 500]
    counted = series(found, T, T + 1_000)
    assert counted is not None
    assert (counted.assigned[-1], counted.pending[-1]) == (0, 1)


def test_nothing_written_is_nothing_read(tmp_path: Path) -> None:
    found: Numbers = read_transitions(tmp_path, []).at_ms
    assert found.tolist() == []


@pytest.mark.parametrize("damage", [b"", b"PAR1 but no more than that"])
def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path, damage: bytes) -> None:
    name = written(tmp_path, [(10, 100, 1, ABSENT, A)], 1, 0)
    if damage:
        (tmp_path / name).write_bytes(damage)
    else:
        (tmp_path / name).unlink()
    with pytest.raises(TransitionsUnreadable, match=str(tmp_path)):
        read_transitions(tmp_path, [name])


def test_the_rate_of_a_broker_is_that_of_its_hold(tmp_path: Path) -> None:
    """A topic that is made 45 s after the hold leaves its figures as they are."""
    one = Made(tmp_path)
    registered(one, 0, 1, 645, pending=99)
    one.tell("assignments_complete", 6_400, 1, offset=800, held_ms=6_400, unfenced_early_ms=None)
    one.summary = finalized(now(1, 645))
    pending, there = ReplicaState.MIGRATING, ReplicaState.ASSIGNED
    for n in range(99):
        one.moves += [(500, 0, 1, None, pending)]
        one.moves += [(702 + n, 200 if n < 50 else 6_400, 1, pending, there)]
    one.moves += [(900, 51_000, 1, None, ReplicaState.UNASSIGNED)]
    one.moves += [(901, 51_400, 1, ReplicaState.UNASSIGNED, there)]
    one.moves.sort(key=lambda each: each[0])
    one.store()
    (broker,) = report_of(one).clusters[0].brokers
    found = broker.incarnations[0].assignments
    assert found is not None
    assert (found.assigned, found.last_at - found.first_at) == (99, 6_200)
    assert found.rate_per_second == round(99 / 6.2, 3)
