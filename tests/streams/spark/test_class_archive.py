"""The archive of the JVM's classes: one for each installation, and none of a former one."""

import os
from pathlib import Path

import pyspark
import pytest

from streams.spark.session import class_archive
from streams.spark.warm import LOG, forget_former
from tests.support.wire_writing import write_leader_change


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    (tmp_path / "pyspark" / "jars").mkdir(parents=True)
    jar = tmp_path / "pyspark" / "jars" / "spark-core.jar"
    jar.touch()
    return jar


def _make(archive: Path, jars: Path) -> Path:
    home = archive.with_suffix(".home")
    home.mkdir(parents=True)
    (home / "jars").symlink_to(jars)
    archive.touch()
    return home


def test_a_new_installation_at_the_same_place_has_another_archive(jar: Path) -> None:
    """A JVM that is given an archive of other jars ignores it, and starts in twice the time."""
    former = class_archive()
    assert class_archive() == former
    os.utime(jar, ns=(1, 1))
    assert class_archive() != former


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "own"))
    assert class_archive().parent == tmp_path / "own"
    monkeypatch.delenv("KRAFTGATE_CACHE")
    assert class_archive().parent == tmp_path / "xdg" / "kraftgate"


def test_archives_of_former_installations_are_removed(jar: Path, tmp_path: Path) -> None:
    former = _make(class_archive(), jar.parent)
    os.utime(jar, ns=(1, 1))
    ours = _make(class_archive(), jar.parent)
    gone = _make(class_archive().with_name("spark-4_2_0-gone.jsa"), tmp_path / "absent")
    (tmp_path / "other").mkdir()
    other = _make(class_archive().with_name("spark-4_2_0-other.jsa"), tmp_path / "other")
    forget_former()
    homes = set(class_archive().parent.glob("*.home"))
    assert homes == {ours, other}
    assert {each.with_suffix(".jsa") for each in homes} == set(ours.parent.glob("*.jsa"))
    assert not former.exists()
    assert not gone.exists()
    assert jar.is_file()


def test_the_log_that_the_archive_is_made_with_is_one_of_a_controller() -> None:
    assert write_leader_change(0, 1, 1, 3000) == LOG
