"""The next step of moves under way: bounded, resumed from the disks, stopped by a failure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.moves.steps import (
    STRIKES_MAX,
    Copies,
    Measured,
    Moving,
    Step,
    copies,
    measured,
    next_step,
)
from migration.moves.verify import Progress, Verified, on_disk
from migration.observed.probed import Unknown
from tests.migration.moves.brokers import D0, D1, D2, at, broker, log_dir
from tests.support.examples import examples


def one(name: str, progress: Progress, broker: int = 1, future: str | None = None) -> Verified:
    return Verified(broker, at(name), D1, progress, path=D0, future=future)


def names(found: Sequence[Verified]) -> list[str]:
    return [str(each.at) for each in found]


def sent(step: Step) -> dict[int, list[str]]:
    return {id_: names(moves) for id_, moves in step.send.items()}


def test_as_many_moves_of_a_broker_begin_as_may_run_at_once() -> None:
    found = [one(f"t-{n}", Progress.NOT_MOVING) for n in range(3)]
    found += [one("u-0", Progress.NOT_MOVING, broker=2), one("t-9", Progress.MOVING)]
    run, step = next_step(Moving(), found, 2)
    assert sent(step) == {1: ["t-0"], 2: ["u-0"]}
    assert names(step.waits) == ["t-9"]
    run = run.accepted([(1, at("t-0")), (2, at("u-0"))])
    found[0] = one("t-0", Progress.MOVING)
    found[3] = one("u-0", Progress.COMPLETED, broker=2)
    assert sent(next_step(run, found, 2)[1]) == {}


def test_a_finished_run_is_at_its_end() -> None:
    _, step = next_step(Moving(), [one("t-0", Progress.COMPLETED)], 2)
    assert step.is_end


def test_moves_that_run_already_are_awaited_and_not_sent() -> None:
    """A killed run is resumed from the disks. KIP-113, "Handle failure that happens ..."."""
    run, step = next_step(Moving(), [one("t-0", Progress.MOVING)], 2)
    assert not step.send
    assert not step.is_end
    assert run.started == {(1, at("t-0"))}


def test_a_move_that_is_gone_fails_after_some_polls_and_nothing_else_begins() -> None:
    """KIP-113, "Complete replica data movement": its destination failed, or it was cancelled."""
    run = Moving().accepted([(1, at("t-0"))])
    found = [one("t-0", Progress.NOT_MOVING), one("t-1", Progress.NOT_MOVING)]
    for _ in range(STRIKES_MAX - 1):
        run, step = next_step(run, found, 1)
        assert names(step.waits) == ["t-0"]
        assert not step.send
    run, step = next_step(run, found, 1)
    assert step.is_end
    assert "it no longer moves" in run.failed[1, at("t-0")]


def test_strikes_must_be_in_a_row() -> None:
    """The broker exchanges the logs at the end of a move one after the other.

    KIP-113, "Complete replica data movement".
    """
    run = Moving().accepted([(1, at("t-0"))])
    for _ in range(STRIKES_MAX):
        run, _ = next_step(run, [one("t-0", Progress.NOT_MOVING)], 1)
        run, _ = next_step(run, [one("t-0", Progress.MOVING)], 1)
    assert not run.failed


def test_after_a_failure_running_moves_are_awaited() -> None:
    run = Moving().refused({(1, at("t-0")): "KAFKA_STORAGE_ERROR"})
    found = [one(f"t-{n}", Progress.NOT_MOVING) for n in (0, 1)]
    found.append(one("t-2", Progress.MOVING))
    found.append(one("u-0", Progress.UNKNOWN, broker=2))
    _, step = next_step(run, found, 9)
    assert not step.send
    assert names(step.waits) == ["t-2"]


def test_a_silent_broker_is_awaited_and_gets_no_strikes() -> None:
    """It restarts: KIP-113, "Handle failure that happens ...": the move resumes afterwards."""
    run = Moving().accepted([(1, at("t-0"))])
    found = [one("t-0", Progress.UNKNOWN)._replace(why="b1 refused")]
    for _ in range(STRIKES_MAX + 1):
        run, step = next_step(run, found, 1)
        assert step.silent == {1: "b1 refused"}
        assert names(step.waits) == ["t-0"]
    assert not run.failed


@pytest.mark.parametrize("progress", [Progress.MISSING, Progress.MOVING_ELSEWHERE])
def test_what_cannot_move_fails(progress: Progress) -> None:
    run = Moving()
    for _ in range(STRIKES_MAX):
        run, step = next_step(run, [one("t-0", progress, future=D2)], 1)
    assert step.is_end
    assert (1, at("t-0")) in run.failed


@examples(100)
@given(
    states=st.lists(st.tuples(st.sampled_from([*Progress]), st.integers(1, 3)), max_size=12),
    at_once=st.integers(1, 4),
)
def test_a_step_never_exceeds_the_bound_and_never_forgets(
    states: list[tuple[Progress, int]], at_once: int
) -> None:
    found = [one(f"t-{n}", progress, id_) for n, (progress, id_) in enumerate(states)]
    run, step = next_step(Moving(), found, at_once)
    for id_, moves in step.send.items():
        running = sum(each.broker == id_ for each in step.waits)
        assert len(moves) <= max(0, at_once - running)
        assert all(each.progress is Progress.NOT_MOVING for each in moves)
    over = {Progress.COMPLETED, Progress.MOVING_ELSEWHERE}
    if step.is_end and not run.failed:
        assert {each.progress for each in found} <= over | {Progress.NOT_RECORDED}


def test_progress_is_measured_in_bytes() -> None:
    full = broker(
        1,
        log_dir(D0, {"t-0": 600, "t-2": 50}),
        log_dir(D1, {"t-1": 200}, futures={"t-0": 7}, future_sizes={"t-0": 100}),
    )
    assert not isinstance(full.log_dirs, Unknown)
    targets = {at(f"t-{n}"): D1 for n in range(3)}
    found = on_disk(1, targets, full.log_dirs)
    assert measured(found, {1: full}, {1: 50}) == Measured(1, 3, 300, 850, 11.0)
    assert measured(found, {1: full}, {}) == Measured(1, 3, 300, 850)
    silent = on_disk(1, targets, Unknown("b1 refused"))
    assert {each.progress for each in silent} == {Progress.UNKNOWN}


def copied(
    before: Mapping[int, Copies], now_s: float, **seen: tuple[int, int | None]
) -> Mapping[int, Copies]:
    """The copies of broker 1, by name: its bytes and its lag."""
    names = {name.replace("_", "-"): each for name, each in seen.items()}
    full = broker(
        1,
        log_dir(D0, dict.fromkeys(names, 600)),
        log_dir(
            D1,
            futures={name: lag for name, (_, lag) in names.items()},
            future_sizes={name: size for name, (size, _) in names.items()},
        ),
    )
    found = on_disk(1, {at(name): D1 for name in names}, full.log_dirs)
    return copies(before, found, {1: full}, now_s)


@pytest.mark.parametrize(
    ("was", "now", "goes_on"),
    [
        ((100, 7), (200, 4), True),
        ((100, 7), (100, 7), False),
        ((100, 7), (100, 9), False),  # the fetcher is stuck, and the partition gets records
        ((100, 0), (200, 0), False),  # it has caught up, and no controller confirms it
        ((100, None), (100, None), False),  # its source is not online
    ],
)
def test_a_broker_whose_copies_do_not_go_on_keeps_the_time(
    was: tuple[int, int | None], now: tuple[int, int | None], *, goes_on: bool
) -> None:
    """The rule is that of `future_replica_stuck`."""
    before = copied({}, 5.0, t_0=was, t_1=(0, 9))
    assert before[1].since_s == 5.0
    after = copied(before, 8.0, t_0=now, t_1=(0, 9))
    assert after[1].since_s == (8.0 if goes_on else 5.0)


def test_a_copy_that_begins_or_arrives_is_progress() -> None:
    before = copied({}, 5.0, t_0=(100, 7))
    both = copied(before, 6.0, t_0=(100, 7), t_1=(0, 9))
    assert both[1].since_s == 6.0
    assert copied(both, 7.0, t_1=(0, 9))[1].since_s == 7.0
    assert copied(both, 7.0) == {}


def test_a_silent_broker_has_no_copies() -> None:
    """When it answers again, the time begins again."""
    silent = on_disk(1, {at("t-0"): D1}, Unknown("b1 refused"))
    now = {1: replace(broker(1), log_dirs=Unknown("b1 refused"))}
    assert copies(copied({}, 5.0, t_0=(100, 7)), silent, now, 6.0) == {}
