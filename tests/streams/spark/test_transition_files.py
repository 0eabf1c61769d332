"""The data set of the transitions, as other programs read it."""

import errno
from pathlib import Path

import numpy as np
import pytest

from streams.spark.transition_files import write_transitions

NOTHING = np.empty((0, 7), dtype=np.int64)


def test_a_file_that_was_not_completed_is_no_part_of_the_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed here leaves the file; the kill is an interrupt, to stay alive."""
    import pyarrow.dataset as ds  # and pandas: every worker that collects the tests would wait

    monkeypatch.setattr(Path, "replace", _killed)
    with pytest.raises(KeyboardInterrupt):
        write_transitions(tmp_path, "prod", 0, (1, 9), NOTHING, [], [])
    monkeypatch.undo()
    assert len(list(tmp_path.rglob("*.tmp"))) == 1
    assert ds.dataset(tmp_path, format="parquet", partitioning="hive").files == []
    path = write_transitions(tmp_path, "prod", 0, (1, 9), NOTHING, [], [])
    assert ds.dataset(tmp_path, format="parquet", partitioning="hive").files == [str(path)]


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt is another process, and would leave another one."""
    monkeypatch.setattr("streams.spark.transition_files.pq.write_table", _full)
    with pytest.raises(OSError, match="No space left"):
        write_transitions(tmp_path, "prod", 0, (1, 9), NOTHING, [], [])
    assert list(tmp_path.rglob("*.tmp")) == []


def _full(_: object, path: Path, **_options: object) -> None:
    path.write_bytes(b"the first part")
    raise OSError(errno.ENOSPC, "No space left on device")


def _killed(*_: object, **_options: object) -> None:
    raise KeyboardInterrupt
