"""An estimate's interval has its stated coverage, and widens while no step arrives."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.assessment.eta import LEVEL, Estimate, estimate
from migration.shard.report import STEPS_MAX, Step, together

START_MS: Final = 1_790_000_000_000
MANY: Final = 1_200
"""So many nights of each kind: a share of 0.9 is then right within 0.02, nearly always."""

steps = st.lists(
    st.tuples(st.integers(1, 100_000), st.integers(1, 2250)), min_size=2, max_size=STEPS_MAX
).map(lambda drawn: at_gaps([gap for gap, _ in drawn], [size for _, size in drawn]))
pendings = st.integers(0, 200_000)


def at_gaps(gaps_ms: list[int], sizes: list[int]) -> tuple[Step, ...]:
    moments = START_MS + np.cumsum(gaps_ms)
    return tuple(map(Step, moments.tolist(), sizes))


def made(found: tuple[Step, ...], pending: int, after_ms: int = 0) -> Estimate:
    one = estimate(3, found, pending, found[-1].at_ms + after_ms)
    assert one is not None
    return one


@dataclass(frozen=True, kw_only=True)
class Night:
    """Gaps between steps (ms), their sizes, and the expected coverage of the interval."""

    gaps: Callable[[np.random.Generator, int], np.ndarray]
    sizes: Callable[[np.random.Generator, int], np.ndarray]
    holds: float


def _requests(rng: np.random.Generator, count: int) -> np.ndarray:
    """Kafka's own pattern: the first replica alone, then the queued ones, then full requests."""
    sizes = np.full(count, 2250)
    sizes[0], sizes[1] = 1, rng.integers(1, 2250)
    return sizes


def _with_pauses(rng: np.random.Generator, count: int) -> np.ndarray:
    """One step in ten follows a pause ten times as long: rejected and retried requests."""
    long = rng.random(count) < 0.1
    return np.where(long, rng.uniform(1000, 4000, count), rng.uniform(100, 300, count))


NIGHTS: Final = {
    "one by one, as they come": Night(
        gaps=lambda rng, count: rng.exponential(200, count),
        sizes=lambda _, count: np.ones(count),
        holds=LEVEL,
    ),
    "in steps of any size, as they come": Night(
        gaps=lambda rng, count: rng.exponential(200, count),
        sizes=lambda rng, count: rng.geometric(0.1, count),
        holds=LEVEL,
    ),
    "requests, one behind the other": Night(
        gaps=lambda rng, count: rng.uniform(160, 240, count), sizes=_requests, holds=0.97
    ),
    "requests that scatter": Night(
        gaps=lambda rng, count: rng.lognormal(5, 1, count), sizes=_requests, holds=LEVEL
    ),
    "requests with pauses": Night(gaps=_with_pauses, sizes=_requests, holds=0.85),
}


@pytest.mark.parametrize("kind", NIGHTS)
def test_the_interval_holds_as_often_as_it_says(kind: str) -> None:
    night, rng = NIGHTS[kind], np.random.default_rng(858)
    held = [_holds(night, rng, at_a_step=bool(turn % 2)) for turn in range(MANY)]
    assert sum(held) / MANY > night.holds - 0.02


def _holds(night: Night, rng: np.random.Generator, *, at_a_step: bool) -> bool:
    """Simulate 5 to 60 steps; return whether the estimate at or between steps holds."""
    count = int(rng.integers(5, 60))
    sizes = night.sizes(rng, count).astype(int)
    every = at_gaps(np.ceil(night.gaps(rng, count)).astype(int).tolist(), sizes.tolist())
    seen = int(rng.integers(2, count))
    now_ms = every[seen - 1].at_ms
    if not at_a_step:
        now_ms = int(rng.integers(every[1].at_ms, every[-1].at_ms))
        seen = sum(step.at_ms <= now_ms for step in every)
    one = estimate(1, every[:seen][-STEPS_MAX:], int(sizes[seen:].sum()), now_ms)
    assert one is not None
    return one.low * 1000 <= every[-1].at_ms - now_ms <= one.high * 1000


@given(steps, pendings, st.integers(0, 10**7))
def test_the_estimate_lies_within_its_interval(
    found: tuple[Step, ...], pending: int, after_ms: int
) -> None:
    one = made(found, pending, after_ms)
    assert 0 <= one.low <= one.seconds <= one.high < float("inf")
    assert one.seconds > 0
    assert one.assigned == sum(step.assigned for step in found[1:])
    assert (one.steps, one.broker, one.level) == (len(found) - 1, 3, LEVEL)


@given(steps, pendings, st.integers(0, 10**7), st.integers(1, 10**7))
def test_it_grows_and_widens_while_nothing_comes(
    found: tuple[Step, ...], pending: int, after_ms: int, later_ms: int
) -> None:
    one, later = made(found, pending, after_ms), made(found, pending, after_ms + later_ms)
    assert later.seconds > one.seconds
    assert later.high > one.high
    assert later.low <= one.low * 1.000001
    assert later.over_ms == one.over_ms + later_ms


@given(steps, pendings, st.integers(1, 10_000))
def test_more_that_is_pending_takes_no_less(
    found: tuple[Step, ...], pending: int, more: int
) -> None:
    one, other = made(found, pending), made(found, pending + more)
    assert other.seconds >= one.seconds
    assert other.low >= one.low * 0.999999
    assert other.high >= one.high * 0.999999


@given(steps, pendings, st.integers(0, 10_000), st.floats(0.5, 0.99))
def test_a_higher_level_is_a_wider_interval(
    found: tuple[Step, ...], pending: int, after_ms: int, level: float
) -> None:
    at_ms = found[-1].at_ms + after_ms
    narrow, wide = (estimate(1, found, pending, at_ms, each) for each in (level, level + 0.005))
    assert narrow is not None
    assert wide is not None
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.seconds == narrow.seconds


@given(steps, pendings, st.integers(2, 1000))
def test_a_slower_clock_gives_the_same_but_slower(
    found: tuple[Step, ...], pending: int, times: int
) -> None:
    first = found[0].at_ms
    slower = tuple(Step(first + (at_ms - first) * times, size) for at_ms, size in found)
    one, other = made(found, pending), made(slower, pending)
    assert other.seconds == pytest.approx(one.seconds * times)
    assert other.low == pytest.approx(one.low * times)
    assert other.high == pytest.approx(one.high * times)


def test_steady_steps_of_one_size_are_carried_on() -> None:
    one = made(at_gaps([500] * 11, [20] * 11), pending=100)
    assert one.seconds == pytest.approx(2.5)
    assert one.how == "from 200 assignments in 10 steps over 5 s; 90 % interval"


def test_the_more_was_seen_the_narrower_it_is() -> None:
    few, many = (made(at_gaps([500] * n, [20] * n), pending=2000) for n in (4, 30))
    assert few.seconds == pytest.approx(many.seconds)
    assert few.low < many.low < many.high < few.high


def test_the_last_few_replicas_take_a_whole_step() -> None:
    assert made(at_gaps([500] * 5, [20] * 5), pending=1).seconds == pytest.approx(0.5)


@pytest.mark.parametrize("found", [(), (Step(START_MS, 40),)])
def test_there_is_none_before_there_is_a_rate(found: tuple[Step, ...]) -> None:
    assert estimate(1, found, 10, START_MS + 5_000) is None


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=120),
    st.lists(st.integers(0, 120), max_size=4),
)
def test_steps_put_together_in_any_parts_are_the_latest_ones(
    drawn: list[tuple[int, int]], cuts: list[int]
) -> None:
    whole = [Step(*each) for each in drawn]
    counts = {at: sum(n for moment, n in whole if moment == at) for at, _ in whole}
    expected = tuple(Step(at, counts[at]) for at in sorted(counts)[-STEPS_MAX:])
    bounds = [0, *sorted(cuts), len(whole)]
    found: tuple[Step, ...] = ()
    for start, end in pairwise(bounds):
        found = together(found, together(whole[start:end]))
    assert found == expected


def test_a_step_that_came_late_is_in_its_place() -> None:
    found = together([Step(5, 1), Step(7, 2)], [Step(5, 3), Step(6, 4)])
    assert found == (Step(5, 4), Step(6, 4), Step(7, 2))
