"""Parts of the benchmark, small and short: that they measure, never how much.

The other parts take minutes also when they are small: `python -m tests.bench --quick` tries all.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from tests.bench.latency import Load
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, table
from tests.bench.stub_broker import StubBroker

_SHORT = ("--quick", "--runs", "1", "--seconds", "2", "--minutes", "0.1")
_PARTS = {"b", "c", "h", "j", "k"}

pytestmark = [pytest.mark.slow, pytest.mark.long(minutes=3.5)]


@pytest.mark.lab
@pytest.mark.spark
def test_the_parts_measure(tmp_path: Path) -> None:
    # Its own process: a part waits for every child of its process, and a worker of pytest has more.
    command = [sys.executable, "-m", "tests.bench", *_SHORT, "--only", ",".join(_PARTS)]
    said = subprocess.run(
        [*command, "--results", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr
    (file,) = tmp_path.glob("*.json")
    figures = json.loads(file.read_text())["figures"]
    assert {each["part"] for each in figures} == _PARTS
    assert all(each["runs"] for each in figures)
    assert {each.name[0] for each in file.with_suffix("").glob("?-*.svg")} == _PARTS


class _SlowBroker:
    """Takes longer than a load allows, as the controller of a busy machine does."""

    def assign(self, partitions: range, directory: int) -> None:
        del partitions, directory
        time.sleep(0.25)


def test_only_a_rate_that_is_judged_must_be_reached() -> None:
    def load(*, may_be_late: bool) -> Load:
        return Load(cast("StubBroker", _SlowBroker()), 100, 1000, may_be_late=may_be_late)

    with pytest.raises(MeasuringFailed, match="the rate was not reached"):
        load(may_be_late=False).run(0.1)
    assert load(may_be_late=True).run(0.1) == 10


def test_a_figure_is_judged_by_its_bound_and_drawn(tmp_path: Path) -> None:
    from tests.bench.plots import draw  # and matplotlib: every worker would wait

    figures = [
        Figure(part="x", name="Over, by half", unit="s", runs=[3.0, 2.9], bound=2.0),
        Figure(part="x", name="ratio", unit="s", runs=[3.0], compared_with=[2.0], bound=2.0),
        *(
            Figure(part="x", name=f"of {at}", unit="s", runs=[at], series="all", at=at, at_unit="n")
            for at in (1.0, 2.0)
        ),
    ]
    assert [each.within for each in figures] == [False, True, None, None]
    assert "OVER" in table(figures)
    draw(figures, tmp_path)
    drawn = {each.name for each in tmp_path.iterdir()}
    assert drawn == {"x-over-by-half.svg", "x-ratio.svg", "x-all.svg"}
