"""An estimate is held against what the same log says later."""

from pathlib import Path

import pytest

from tests.bench.eta import told
from tests.bench.measure import MeasuringFailed
from tests.streams.spark.test_holds import (
    ASSIGN_0,
    ASSIGN_1,
    KRAFT,
    PARTITION_0,
    PARTITION_1,
    TOPIC,
)
from tests.support.logs import Action, values, write_segment

PARTITION_2: Action = (2, 0, 2, 0)
ASSIGN_2: Action = (5, 0, 2, 0)
HELD = [TOPIC, PARTITION_0, PARTITION_1, PARTITION_2, KRAFT, ASSIGN_0, ASSIGN_1]


def log(folder: Path, *actions: Action) -> Path:
    """Ten ms a record."""
    (folder / f"{0:020d}.log").write_bytes(write_segment(values(actions), [1]))
    return folder


def test_an_estimate_is_told_with_what_it_took(tmp_path: Path) -> None:
    (one,) = told(log(tmp_path, *HELD, ASSIGN_2))
    assert one.estimate.seconds == pytest.approx(0.01)
    assert one.took_s == pytest.approx(0.01)
    assert one.error_s == pytest.approx(0)
    assert one.relative == pytest.approx(0)
    assert one.holds


def test_of_what_did_not_end_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(MeasuringFailed, match="not complete"):
        told(log(tmp_path, *HELD))
