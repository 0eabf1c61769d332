"""The planner: drain, even out, and what a file asks for (KIP-113)."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.moves.plan_file import ANY, read
from migration.moves.planner import (
    EVEN_ENOUGH,
    Measure,
    Move,
    Unusable,
    drain,
    even_out,
    file_of,
    obstacles,
    requested,
    seconds,
    space,
)
from migration.observed.probed import Broker, Unknown
from tests.migration.moves.brokers import D0, D1, D2, at, broker, log_dir, topics

SIZES = {"t-0": 70, "t-1": 20, "t-2": 10}


def test_a_drained_directory_is_empty_and_the_largest_goes_where_most_is_free() -> None:
    """KIP-113, "Motivation": a replica gets another directory of the same broker."""
    one = broker(1, log_dir(D0, SIZES), log_dir(D1, free=100), log_dir(D2, free=150))
    moves = drain(one, D0)
    assert [(str(each.at), each.source, each.target, each.bytes) for each in moves] == [
        ("t-0", D0, D2, 70),
        ("t-1", D0, D1, 20),
        ("t-2", D0, D1, 10),
    ]


def test_an_offline_directory_is_no_destination() -> None:
    """KIP-113, "Complete replica data movement": a move stops if either end is offline."""
    one = broker(1, log_dir(D0, SIZES), log_dir(D1, free=None), log_dir(D2, free=9999, error=56))
    assert {each.target for each in drain(one, D0)} == {D1}


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (broker(1, log_dir(D0, SIZES), log_dir(D1, error=56)), "no other online directory"),
        (broker(1, log_dir(D0, error=56), log_dir(D1)), "/d0 is not online (error 56)"),
    ],
)
def test_nothing_can_be_drained_from_or_to_offline_directories(one: Broker, words: str) -> None:
    """KIP-113, "Complete replica data movement": a move stops if either end is offline."""
    with pytest.raises(Unusable) as refused:
        drain(one, D0)
    assert words in refused.value.why
    assert not refused.value.is_unknown


def test_a_silent_broker_is_unknown() -> None:
    silent = Broker(id=1, log_dirs=Unknown("b1:9092 refused"))
    with pytest.raises(Unusable) as refused:
        drain(silent, D0)
    assert refused.value.is_unknown
    with pytest.raises(Unusable) as refused:
        even_out(silent, Measure.BYTES)
    assert refused.value.is_unknown


def test_the_last_healthy_destination_takes_all() -> None:
    """A third directory failed: the plan is made; Kafka rejects it until the third one is back.

    KIP-113, "Solution".
    """
    one = broker(1, log_dir(D0, SIZES), log_dir(D1, {"u-0": 5}), log_dir(D2, error=56))
    moves = drain(one, D0)
    assert {each.target for each in moves} == {D1}
    restored = broker(1, log_dir(D0, SIZES), log_dir(D1, {"u-0": 5}))
    assert obstacles(moves, {1: one})
    assert not obstacles(moves, {1: restored})


def test_one_directory_cannot_be_evened_out() -> None:
    with pytest.raises(Unusable, match="fewer than two"):
        even_out(broker(1, log_dir(D0, SIZES), log_dir(D1, error=56)), Measure.COUNT)


def loads(one: Broker, moves: tuple[Move, ...], measure: Measure) -> Mapping[str, int]:
    """The load of each directory after the moves."""
    assert not isinstance(one.log_dirs, Unknown)
    weigh = (lambda size: size) if measure is Measure.BYTES else (lambda _: 1)
    load = {each.path: sum(map(weigh, each.sizes.values())) for each in one.log_dirs}
    for each in moves:
        load[each.source] -= weigh(each.bytes)
        load[each.target] += weigh(each.bytes)
    return load


def test_directories_are_even_after_the_moves() -> None:
    """KIP-113, "Motivation": the operator balances the disks of a broker."""
    sizes = {f"t-{n}": 10 for n in range(12)}
    one = broker(1, log_dir(D0, sizes), log_dir(D1), log_dir(D2))
    for measure in Measure:
        moves = even_out(one, measure)
        assert len(moves) == 8
        assert len(set(loads(one, moves, measure).values())) == 1


def test_a_name_that_is_too_long_stays() -> None:
    """KIP-113, "Solution": the destination has a folder with a postfix."""
    one = broker(1, log_dir(D0, {f"{'x' * 240}-{n}": 10 for n in range(4)}), log_dir(D1))
    assert not even_out(one, Measure.COUNT)
    assert "name of 282 bytes" in obstacles(drain(one, D0), {1: one})[0]


@given(st.lists(st.lists(st.integers(0, 1000), max_size=20), min_size=2, max_size=4))
def test_evening_out_never_makes_it_worse_and_moves_a_replica_once(found: list[list[int]]) -> None:
    one = broker(
        1,
        *(
            log_dir(f"/d{d}", {f"t{d}-{n}": size for n, size in enumerate(sizes)})
            for d, sizes in enumerate(found)
        ),
    )
    for measure in Measure:
        moves = even_out(one, measure)
        assert len({each.at for each in moves}) == len(moves)
        before, after = loads(one, (), measure), loads(one, moves, measure)
        assert max(after.values()) - min(after.values()) <= max(before.values()) - min(
            before.values()
        )
        assert all(each.source != each.target for each in moves)
        if measure is Measure.COUNT and all(size for sizes in found for size in sizes):
            assert max(after.values()) - min(after.values()) <= 1


def test_nothing_is_copied_that_hardly_evens_out() -> None:
    """A large replica that would only change sides stays; small ones move."""
    large = broker(1, log_dir(D0, {"t-0": 1000} | {f"u-{n}": 10 for n in range(5)}), log_dir(D1))
    moves = even_out(large, Measure.BYTES)
    assert 0 < sum(each.bytes for each in moves) <= 50
    assert not even_out(broker(1, log_dir(D0, {"t-0": 1000}), log_dir(D1)), Measure.BYTES)
    crumbs = {f"u-{n}": 1 for n in range(500)}
    tiny = broker(1, log_dir(D0, {"t-0": 10**6} | crumbs), log_dir(D1))
    assert not even_out(tiny, Measure.BYTES)


def test_the_next_fullest_directory_is_evened_out_too() -> None:
    many = {f"u-{n}": 10 for n in range(40)}
    one = broker(1, log_dir(D0, {"t-0": 1000}), log_dir(D1, many), log_dir(D2))
    after = loads(one, even_out(one, Measure.BYTES), Measure.BYTES)
    assert after[D0] == 1000
    assert after[D1] - after[D2] <= EVEN_ENOUGH * 1400 / 3


def test_nearly_even_directories_stay() -> None:
    """KIP-113, "Changes in Operational Procedures": the load of log directories is balanced."""
    one = broker(1, log_dir(D0, {"t-0": 1000, "t-1": 3}), log_dir(D1, {"t-2": 990}))
    assert EVEN_ENOUGH > 13 / 1000
    assert not even_out(one, Measure.BYTES)


def asked(*log_dirs: str) -> bytes:
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": log_dirs}
    return json.dumps({"version": 1, "partitions": [entry]}).encode()


def test_a_file_moves_what_is_elsewhere() -> None:
    """KIP-113, "Initiate replica movement using AlterReplicaDirRequest"."""
    brokers = {
        1: broker(1, log_dir(D0, {"t-0": 5}), log_dir(D1)),
        2: broker(2, log_dir(D0, {"t-0": 6}), log_dir(D1)),
    }
    wanted, _ = read(asked(D1, D0))
    assert requested(wanted, brokers) == ((Move(1, at("t-0"), D0, D1, 5),), ())


def test_a_source_that_is_not_described_is_unknown() -> None:
    brokers = {
        1: broker(1, log_dir(D0, error=56), log_dir(D1)),
        2: Broker(id=2, log_dirs=Unknown("timed out")),
    }
    wanted, _ = read(asked(D1, D0))
    moves, unknown = requested(wanted, brokers)
    assert not moves
    assert unknown == (
        "broker 1 does not describe t-0: its directory is unknown",
        "broker 2 does not describe its log directories: timed out",
    )


def test_free_space_counts_all_that_arrives_in_a_volume() -> None:
    """Directories with equal numbers may be one volume; the source keeps its logs until the end.

    KIP-113, "Complete replica data movement".
    """
    one = broker(1, log_dir(D0, {"t-0": 60, "t-1": 60}), log_dir(D1), log_dir(D2), log_dir("/d3"))
    moves = (Move(1, at("t-0"), D0, D1, 60), Move(1, at("t-1"), D0, D2, 60))
    assert [(each.path, each.before, each.after) for each in space(moves, {1: one})] == [
        (D1, 1000, 880),
        (D2, 1000, 880),
    ]
    written = broker(1, log_dir(D0), log_dir(D1), log_dir(D2, free=1000 - 4096 * 9))
    assert [each.after for each in space(moves, {1: written})] == [880, 880 - 4096 * 9]
    apart = broker(1, log_dir(D0), log_dir(D1, free=100), log_dir(D2, free=None))
    assert [each.after for each in space(moves, {1: apart})] == [40, None]


def test_a_destination_that_is_too_small_is_an_obstacle() -> None:
    one = broker(1, log_dir(D0, {"t-0": 60}), log_dir(D1, free=50))
    assert obstacles(drain(one, D0), {1: one}) == ("broker 1: /d1 would be 10 bytes too small",)
    source = log_dir(D0, {"t-0": 60})
    full = broker(1, source, log_dir(D1, free=60))
    assert obstacles(drain(full, D0), {1: full}) == (
        "broker 1: /d1 would have 0 bytes free, below the reserve of 20",
    )
    assert not obstacles(drain(full, D0), {1: broker(1, source, log_dir(D1, free=80))})
    own = {1: {at("t-0"): D1, at("t-9"): D1}}
    assert obstacles(drain(full, D0), {1: full}, own), "the plan has not begun"
    for begun in (
        log_dir(D1, {"t-9": 1}, free=60),
        log_dir(D1, free=60, futures={"t-9": 4}),
    ):
        now = {1: broker(1, source, begun)}
        assert not obstacles(drain(full, D0), now, own), "a plan that has begun is completed"
    other = broker(2, log_dir(D0), log_dir(D1, {"t-9": 1}))
    both = own | {2: {at("t-9"): D1}}
    assert obstacles(drain(full, D0), {1: full, 2: other}, both), "not on this broker"


@pytest.mark.parametrize("target", [D1, D2])
def test_another_move_and_an_offline_directory_are_obstacles(target: str) -> None:
    """KIP-113, "Initiate replica movement ...": a second request replaces the running move.

    The broker rejects all moves while any of its directories is offline (observed on 3.9.1).
    """
    one = broker(1, log_dir(D0, {"t-0": 1}), log_dir(D1, error=56), log_dir(D2, futures={"u-1": 4}))
    assert obstacles([Move(1, at("t-0"), D0, target, 1)], {1: one}) == (
        "broker 1: /d1 is not online (error 56), and Kafka then rejects every move",
        "broker 1 already moves u-1 to /d2: wait for its end",
    )


def test_a_target_that_the_broker_no_longer_has_is_an_obstacle() -> None:
    """It may have restarted without the directory since the plan was made."""
    one = broker(1, log_dir(D0, {"t-0": 1}))
    assert obstacles([Move(1, at("t-0"), D0, D1, 1)], {1: one}) == (
        "broker 1 has no log directory /d1",
    )


def test_time_is_that_of_each_broker() -> None:
    """KIP-113, "Broker Config": the rate is per broker and shared by all its moves."""
    moves = [Move(1, at("t-0"), D0, D1, 60), Move(1, at("t-1"), D0, D1, 40), Move(2, at("t-0"), D0, D1, 5)]  # fmt: skip  # noqa: E501
    assert seconds(moves, {1: 10, 2: None}) == {1: 10.0, 2: None}


def test_the_plan_names_every_replica() -> None:
    """KIP-113, "Scripts": one entry of log_dirs for each replica, in their order."""
    placed = topics({"t-0": (3, 1), "t-1": (1, 2)}, frozenset({1, 2, 3}))
    moves = [Move(1, at("t-0"), D0, D1, 1), Move(3, at("t-0"), D0, D2, 1)]
    assert file_of(moves, placed) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [3, 1], "log_dirs": [D2, D1]},
        ],
    }
    assert file_of(moves[:1], placed)["partitions"][0]["log_dirs"] == [ANY, D1]  # type: ignore[index]
