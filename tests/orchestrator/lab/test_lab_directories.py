"""A failed directory: every access below it is an error until it is healed or replaced."""

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


def test_replaced_by_an_empty_one_each_time_and_what_it_had_is_kept(disk: Path) -> None:
    for number in (1, 2):
        (disk / "content").write_text(f"disk {number}")
        directories.fail(disk)
        directories.replace(disk)
        assert not directories.is_failed(disk)
        assert list(disk.iterdir()) == []
        kept = disk.with_name(f"{disk.name}.old.{number}")
        assert (kept / "content").read_text() == f"disk {number}"


def test_replacing_what_did_not_fail_is_refused(disk: Path) -> None:
    with pytest.raises(WrongStateError, match="has not failed"):
        directories.replace(disk)
    assert (disk / "content").exists()


def test_replicas_are_those_that_are_neither_future_nor_deleted(disk: Path) -> None:
    ends = ("-future", "-delete", "-stray")
    gone = [f"orders-3.f730b356b5934bacad911e28674d42f1{end}" for end in ends]
    for folder in ("orders-0", "a-b-12", "__cluster_metadata-0", *gone):
        (disk / folder).mkdir()
    assert set(directories.replicas(disk)) == {("orders", 0), ("a-b", 12)}
