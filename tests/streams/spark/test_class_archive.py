"""The archive of the JVM's classes: one for each installation, and none of a former one."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import psutil
import pyspark
import pytest

from streams.spark.session import (
    archive_classes,
    class_archive,
    launcher_archive,
    unsigned_jars,
)
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


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mark of an attempt that is not made yet, in a cache of its own."""
    monkeypatch.setenv("KRAFTGATE_CACHE", str(tmp_path / "cache"))
    attempt = class_archive().with_suffix(".home") / "attempt"
    attempt.parent.mkdir(parents=True)
    return attempt


def test_a_missing_archive_is_created_in_the_background_once_a_day(attempt: Path) -> None:
    attempt.touch()
    assert archive_classes() is None, "a Java that writes no archive would be asked each time"
    yesterday_s = time.time() - 86_401
    os.utime(attempt, (yesterday_s, yesterday_s))
    process = archive_classes()
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        assert attempt.stat().st_mtime > yesterday_s
        assert psutil.Process(process.pid).cmdline()[-2:] == ["streams.spark.warm", "--background"]
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
    finally:
        process.kill()
        process.wait()


def test_an_archive_is_not_created_again(attempt: Path) -> None:
    class_archive().touch()
    assert archive_classes() is None
    assert not attempt.exists()


@pytest.mark.spark
@pytest.mark.usefixtures("attempt")
def test_the_archives_are_complete_or_absent() -> None:
    subprocess.run([sys.executable, "-m", "streams.spark.warm"], check=True)
    assert class_archive().is_file()
    assert launcher_archive().is_file()
    assert unsigned_jars().is_dir()
    assert not list(class_archive().parent.rglob("*.tmp"))


def test_a_command_does_not_fail_because_nothing_can_be_archived(
    attempt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    assert archive_classes() is None
    assert attempt.exists()


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
