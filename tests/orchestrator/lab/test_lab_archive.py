"""The archive of classes: used when it exists and only this user can have written it."""

import subprocess
from pathlib import Path

import pytest

from orchestrator.lab.machine.archive import class_archive, sharing
from orchestrator.lab.machine.java import find_java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A java program with a cache of its own."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("KRAFTGATE_CACHE", str(cache))
    program = tmp_path / "java"
    program.touch()
    return str(program)


def test_without_an_archive_there_is_no_option(java: str) -> None:
    assert sharing(java) == ()


def test_an_archive_of_ours_is_used(java: str) -> None:
    class_archive(java).touch(mode=0o600)
    assert sharing(java)[0] == f"-XX:SharedArchiveFile={class_archive(java)}"


@pytest.mark.parametrize("of", ["file", "folder"])
def test_one_that_others_may_write_is_not_used(java: str, of: str) -> None:
    archive = class_archive(java)
    archive.touch(mode=0o600)
    (archive if of == "file" else archive.parent).chmod(0o777)
    assert sharing(java) == ()


def test_another_build_of_java_has_another_archive(java: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    assert class_archive(java) != class_archive(str(other))


def test_an_archive_that_does_not_fit_is_ignored_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path))
    program = find_java()
    class_archive(program).write_bytes(b"not an archive" * 1000)
    command = [program, "-Xshare:auto", *sharing(program), "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.startswith(("openjdk", "java"))
