"""Damage that only the job detects: where it is, and the state before it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.metadata.offsets import START
from streams.spark.damage import first_damage
from streams.spark.query import JobFailed, ReplayOutcome, replay
from streams.wire.batches import read_batches
from streams.wire.errors import DamagedBatch, WireError
from tests.support.logs import Action, values, write_segment
from tests.support.pipeline import Run
from tests.support.wire_writing import write_batch, write_checkpoint, write_leader_change

TOPIC: Action = (0, 0, 0, 0)
PARTITION_0: Action = (2, 0, 0, 0)
PARTITION_1: Action = (2, 0, 1, 0)
KRAFT: Action = (9, 0, 1, 5)
IDLE: Action = (17, 0, 0, 0)
UNKNOWN_FRAME = b"\x02\x05\x01\x00"

SNAPSHOT = write_checkpoint(
    3, 1_000, [values([TOPIC, PARTITION_0]), values([PARTITION_1, KRAFT], 3)]
)
CUTS = [0, *(each.position + each.size for each in read_batches(SNAPSHOT, file="made"))][:-1]
NAME = f"{500:020d}-{3:010d}.checkpoint"


def alone(folder: Path) -> Path:
    return folder / NAME


def in_directory(folder: Path) -> Path:
    """Return the log; of the records before the snapshot, only the first ones are there."""
    (folder / f"{0:020d}.log").write_bytes(write_segment(values([TOPIC]), [1]))
    (folder / f"{500:020d}.log").write_bytes(write_batch(500, 3, 1_000, values([IDLE])))
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


def to_end(path: Path, _state_dir: Path, _cluster: str, until: int | None) -> ReplayOutcome:
    """Run the job's functions instead of the job."""
    run = Run()
    try:
        run.follow(path, 1, until)
    except WireError as error:
        raise JobFailed(str(error)) from error
    summary = None if run.at == START else run.summary
    return ReplayOutcome(summary=summary, events=run.events, damage=None)


@pytest.fixture
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.spark.query._replay_to_end", to_end)


@pytest.mark.usefixtures("_without_spark")
@pytest.mark.parametrize(
    "content",
    [
        *(pytest.param(SNAPSHOT[:cut], id=f"cut at {cut}") for cut in CUTS),
        pytest.param(
            write_checkpoint(3, 1_000, [values([TOPIC, PARTITION_0]), [UNKNOWN_FRAME]]),
            id="unknown frame",
        ),
    ],
)
def test_the_state_before_a_damaged_snapshot_is_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    outcome = replay(alone(tmp_path))
    assert outcome.damage is not None
    assert outcome.damage.startswith(f"{tmp_path / NAME}, byte ")
    assert outcome.summary is None
    again = replay(in_directory(tmp_path))
    assert again.damage == outcome.damage
    assert again.summary is not None
    assert (again.summary.metadata_offset, again.summary.topics) == (1, 1)


@pytest.mark.usefixtures("_without_spark")
def test_the_state_before_a_damaged_record_is_shown(tmp_path: Path) -> None:
    path = tmp_path / f"{100:020d}.log"
    first = write_batch(100, 1, 1_000, values([TOPIC]))
    path.write_bytes(first + write_batch(101, 1, 1_000, [UNKNOWN_FRAME]))
    (tmp_path / f"{0:020d}.log").write_bytes(
        write_leader_change(0, 1, 1_000, 3000) + write_batch(1, 1, 1_000, values([IDLE] * 99))
    )
    outcome = replay(tmp_path)
    assert outcome.damage is not None
    assert outcome.damage.startswith(f"{path}, byte {len(first)}, offset 101: ")
    assert outcome.summary is not None
    assert (outcome.summary.metadata_offset, outcome.summary.topics) == (100, 1)
