"""Real logs, cut into any batches, give the same state, events and transitions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.state.store import unpack_image
from tests.oracle.fixtures import DATA, unpack
from tests.support.examples import examples
from tests.support.pipeline import Run

CASES = sorted(path.name for path in DATA.iterdir())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("logs")
    return {case: unpack(case, home / case) for case in CASES}


@pytest.fixture(scope="module")
def wholes(logs: dict[str, Path]) -> dict[str, Run]:
    return {case: Run().follow(log, 2**40) for case, log in logs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_batch_by_batch(case: str, logs: dict[str, Path], wholes: dict[str, Run]) -> None:
    _same(Run().follow(logs[case], 1), wholes[case])


@pytest.mark.slow
def test_cut_anywhere(logs: dict[str, Path], wholes: dict[str, Run]) -> None:
    @given(case=st.sampled_from(CASES), max_bytes=st.integers(1, 20_000))
    @examples(25)
    def cut_so(case: str, max_bytes: int) -> None:
        _same(Run().follow(logs[case], max_bytes), wholes[case])

    cut_so()


def _same(cut: Run, whole: Run) -> None:
    assert whole.summary.metadata_offset
    assert unpack_image(cut.image) == unpack_image(whole.image)
    assert cut.summary == whole.summary
    assert cut.events == whole.events
    assert sorted(cut.transitions, key=repr) == sorted(whole.transitions, key=repr)
