"""The archive of the JVM's classes: one for each installation, and none of a former one."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import psutil
import pyspark
import pytest

from streams.spark.session import class_archive, launcher_archive, unsigned_jars
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


@pytest.mark.usefixtures("jar")
def test_another_build_of_java_has_another_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an update of Java would double the time of each start for good."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    former = class_archive()
    assert class_archive() == former
    os.utime(java, ns=(1, 1))
    updated = class_archive()
    assert updated != former
    java.unlink()
    assert class_archive() not in {former, updated}


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
    assert set(ours.parent.glob("*.home")) == {ours, other, former}
    assert set(ours.parent.glob("*.jsa")) == {each.with_suffix(".jsa") for each in (ours, other)}
    assert not gone.exists()
    assert jar.is_file()


_STARTED = "the session has started"
_START = f"""
import sys
from pathlib import Path
from streams.spark.session import end_session, session
session(Path(sys.argv[1]))
print({_STARTED!r}, flush=True)
end_session()
"""


def _start(log: Path) -> None:
    command = [sys.executable, "-c", _START, str(log)]
    assert _STARTED in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _archiving() -> list[psutil.Process]:
    """Return the processes that archive classes for the cache of this test."""
    cache = os.environ["KRAFTGATE_CACHE"]
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if (each.info["cmdline"] or [])[-2:] == ["streams.spark.warm", "--background"]
        and each.environ().get("KRAFTGATE_CACHE") == cache
    ]


@pytest.mark.spark
def test_a_start_without_archive_creates_it_in_the_background_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "cache"))
    attempt = class_archive().with_suffix(".home") / "attempt"
    attempt.parent.mkdir(parents=True)
    attempt.touch()
    _start(tmp_path / "spark.log")
    assert not _archiving(), "a Java that writes no archive would be asked at each start"
    yesterday_s = time.time() - 86_401
    os.utime(attempt, (yesterday_s, yesterday_s))
    _start(tmp_path / "spark.log")
    assert attempt.stat().st_mtime > yesterday_s
    (process,) = _archiving()
    assert process.nice() == 19
    process.wait()
    assert class_archive().is_file()
    assert launcher_archive().is_file()
    assert unsigned_jars().is_dir()
    assert not list(class_archive().parent.rglob("*.tmp"))


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
