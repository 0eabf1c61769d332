"""Damage that only the job detects: where it is, and the state before it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.spark.damage import first_damage
from streams.wire.batches import read_batches
from streams.wire.build import write_checkpoint
from streams.wire.errors import DamagedBatch
from tests.support.logs import Action, values, write_segment
from tests.support.pipeline import Run

TOPIC: Action = (0, 0, 0, 0)
PARTITION_0: Action = (2, 0, 0, 0)
PARTITION_1: Action = (2, 0, 1, 0)
KRAFT: Action = (9, 0, 1, 5)

SNAPSHOT = write_checkpoint(
    3, 1_000, [values([TOPIC, PARTITION_0]), values([PARTITION_1, KRAFT], 3)]
)
CUTS = [0, *(each.position + each.size for each in read_batches(SNAPSHOT, file="made"))][:-1]
NAME = f"{500:020d}-{3:010d}.checkpoint"


def alone(folder: Path) -> Path:
    return folder / NAME


def in_directory(folder: Path) -> Path:
    """Of the records before the snapshot, only the first ones are there."""
    (folder / f"{0:020d}.log").write_bytes(write_segment(values([TOPIC]), [1]))
    return folder


@pytest.mark.parametrize("log", [alone, in_directory])
@pytest.mark.parametrize("cut", CUTS)
def test_a_snapshot_without_its_footer_is_no_state(
    tmp_path: Path, cut: int, log: Callable[[Path], Path]
) -> None:
    path = log(tmp_path)
    (tmp_path / NAME).write_bytes(SNAPSHOT[:cut])
    with pytest.raises(DamagedBatch, match="no footer") as caught:
        Run().follow(path, 2**20)
    assert (caught.value.file, caught.value.position) == (str(tmp_path / NAME), cut)
    damage = first_damage(path)
    assert damage is not None
    assert damage.text == str(caught.value)


def test_a_whole_snapshot_is_the_state(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(SNAPSHOT)
    for path in (alone(tmp_path), in_directory(tmp_path)):
        summary = Run().follow(path, 2**20).summary
        assert (summary.metadata_offset, summary.topics, summary.partitions) == (499, 1, 2)
        assert first_damage(path) is None
