"""The archive of the JVM's classes: one for each installation, and none of a former one."""

import os
import zipfile
from pathlib import Path

import pyspark
import pytest

from streams.spark.session import class_archive
from streams.spark.warm import LOG, copy_unsigned, forget_former
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


def test_signed_jars_are_copied_without_their_signatures(tmp_path: Path) -> None:
    """A JVM verifies each class of a signed jar at each start, and archives none."""
    jars, to = tmp_path / "jars", tmp_path / "home" / "unsigned"
    jars.mkdir()
    manifest = b"Manifest-Version: 1.0\r\nBundle-Name: a\r\n"
    digests = b"\r\nName: a/B.class\r\nSHA1-Digest: x\r\n\r\n"
    with zipfile.ZipFile(jars / "signed.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest + digests)
        jar.writestr("META-INF/DUMMY.SF", "")
        jar.writestr("META-INF/DUMMY.DSA", "")
        jar.writestr("META-INF/services/a.SF", "kept: it is no signature")
        jar.writestr("a/B.class", b"\xca\xfe")
    with zipfile.ZipFile(jars / "other.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
    copy_unsigned(jars, to)
    assert [each.name for each in to.iterdir()] == ["signed.jar"]
    with zipfile.ZipFile(to / "signed.jar") as copy:
        assert copy.read("META-INF/MANIFEST.MF") == manifest + b"\r\n"
        assert copy.read("a/B.class") == b"\xca\xfe"
        others = {"META-INF/MANIFEST.MF", "META-INF/services/a.SF", "a/B.class"}
        assert set(copy.namelist()) == others
    copy_unsigned(tmp_path / "none", to)
    assert (to / "signed.jar").is_file()


def test_the_log_that_the_archive_is_made_with_is_one_of_a_controller() -> None:
    assert write_leader_change(0, 1, 1, 3000) == LOG
