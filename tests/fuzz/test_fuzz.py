"""A little fuzz of every parser, with a fixed seed: only typed errors, under 200 MB, no hang."""

import os
from functools import partial

import pytest

from tests.fuzz.campaign import fuzz
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.target import Inputs, Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import ADDRESSES_BYTES_MAX, GROWTH_BYTES_MAX

pytestmark = pytest.mark.long(minutes=0.75)

SEED = 11
_COST_A_TEST = 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused(name: str) -> None:
    count = max(12, _COST_A_TEST // TARGETS[name].cost)
    outcome = fuzz(name, SEED, count)
    assert [str(each) for each in outcome.findings] == []
    assert outcome.inputs == count
    assert outcome.grown_bytes < GROWTH_BYTES_MAX


@pytest.mark.slow
def test_real_input_is_read() -> None:
    """A parser that refused its own seeds would find nothing else to read."""
    for name, target in TARGETS.items():
        inputs = Inputs(target, SEED)
        read = 0
        for index in range(inputs.real):
            try:
                target.parse(inputs[index])
            except target.errors:
                continue
            read += 1
        assert read > 0, name


def test_an_input_is_made_from_seed_and_number_alone() -> None:
    for name, target in TARGETS.items():
        first, again = Inputs(target, SEED), Inputs(target, SEED)
        last = first.real + 20
        made = [first[index] for index in range(last)]
        assert [again[index] for index in reversed(range(last))] == made[::-1], name
        other = Inputs(target, 12)
        assert made[first.real :] != [other[index] for index in range(first.real, last)], name


def _broken(data: bytes) -> object:
    """A parser with a defect for each first byte."""
    match data[:1]:
        case b"c":
            return data[1000]
        case b"m":
            return b"x" * (2 * GROWTH_BYTES_MAX)
        case b"a":
            return bytearray(2 * ADDRESSES_BYTES_MAX)
        case b"d":
            os.abort()
        case b"t":
            while True:
                pass
        case _:
            raise ValueError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("c", "IndexError at test_fuzz.py"),
        ("m", "took "),
        ("a", "MemoryError"),
        ("d", "ended it with -6"),
        ("t", "took over 5 s"),
    ],
)
def test_each_kind_of_defect_is_found_and_the_rest_is_read_after_it(
    defect: str, message: str
) -> None:
    outcome = fuzz("broken", SEED, 6, find=partial(broken_target, defect))
    [finding] = outcome.findings
    assert message in finding.what
    assert finding.index == 3
    assert f"python -m tests.fuzz broken --seed {SEED} --index 3" in str(finding)
    assert outcome.inputs == 6


def broken_target(defect: str, name: str) -> Target:
    """The fourth input shows the defect; it is not among those that a worker warms up with."""
    seeds = (b"x", b"x", b"x", defect.encode(), b"x", b"x")
    return Target(
        name=name,
        seeds=lambda: seeds,
        parse=_broken,
        errors=(ValueError,),
        mutate=mutate_bytes,
    )
