"""A failed directory: every access below it is an error until it is healed."""

from pathlib import Path

import pytest

from orchestrator.lab.cluster import directories
from orchestrator.lab.errors import WrongStateError


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    disk = tmp_path / "d0"
    disk.mkdir()
    (disk / "content").write_text("kept")
    return disk


def test_failed_then_healed_with_its_content(disk: Path) -> None:
    directories.fail(disk)
    assert directories.is_failed(disk)
    with pytest.raises(NotADirectoryError):
        (disk / "content").read_text()
    directories.heal(disk)
    assert not directories.is_failed(disk)
    assert (disk / "content").read_text() == "kept"


def test_failing_twice_is_refused(disk: Path) -> None:
    directories.fail(disk)
    with pytest.raises(WrongStateError, match="failed already"):
        directories.fail(disk)


def test_healing_what_did_not_fail_is_refused(disk: Path) -> None:
    with pytest.raises(WrongStateError, match="has not failed"):
        directories.heal(disk)


def test_failing_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongStateError, match="no such directory"):
        directories.fail(tmp_path / "none")


def test_healing_never_removes_a_directory_that_took_the_place(disk: Path) -> None:
    directories.fail(disk)
    disk.unlink()
    disk.mkdir()
    (disk / "new").touch()
    with pytest.raises(WrongStateError, match="created a directory"):
        directories.heal(disk)
    assert (disk / "new").exists()
    assert (directories.away(disk) / "content").exists()
