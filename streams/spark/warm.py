"""`python -m streams.spark.warm`: creates the archive of classes that speeds up the JVM's start.

Runs the job once over a log of one record; the JVM writes the classes that it loaded (class data
sharing, java's ArchiveClassesAtExit). Nothing depends on the archive; a JVM ignores an archive
that does not match. Jars that are signed are copied without their signatures before.

`kraftgate replay` starts it with `--background` if there is no archive.
"""

import os
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyspark

from streams.spark.query import replay
from streams.spark.session import (
    LAUNCHER_OPTIONS,
    class_archive,
    launcher_archive,
    session,
    unsigned_jars,
)
from streams.state.directory import create_in_cache, create_private

_DUMP_S_MAX: Final = 600.0
"""At the lowest priority on a busy host; otherwise the JVM takes some seconds."""
_BACKGROUND_S_MAX: Final = 900
_FIRST_TO_END: Final = "1000"
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_SIGNATURE: Final = re.compile(r"META-INF/[^/]+\.(SF|DSA|RSA|EC)")
LOG: Final = bytes.fromhex(
    "00000000000000000000004f00000001028a224e8500200000000000000000000000010000000000000001ffffff"
    "ffffffffffffffffffffff000000013a000000080000000226000000000bb80200000bb8000200000bb8000000"
)
"""The batch that a new leader writes first: offset 0, epoch 1, controller 3000."""


def main() -> int:
    """Create the archive unless it exists; return 1 if the JVM did not write it.

    Two processes may do it at the same time: each writes files of its own.
    """
    archive = class_archive()
    if archive.is_file() and unsigned_jars().is_dir() and launcher_archive().is_file():
        return 0
    create_private()
    create_in_cache(archive.parent)
    if not unsigned_jars().is_dir():  # an archive of other paths is ignored, also by later starts
        archive.unlink(missing_ok=True)
    copy_unsigned(Path(pyspark.__file__).resolve().parent / "jars", unsigned_jars())
    fresh, launcher = (
        each.with_suffix(f".{os.getpid()}.tmp") for each in (archive, launcher_archive())
    )
    try:
        _write(fresh, launcher)
        if not fresh.is_file() or not launcher.is_file():
            sys.stderr.write("the JVM wrote no class archive; kraftgate starts without it\n")
            return 1
        fresh.replace(archive)
        launcher.replace(launcher_archive())
    finally:
        fresh.unlink(missing_ok=True)
        launcher.unlink(missing_ok=True)
    forget_former()
    return 0


def _write(fresh: Path, launcher: Path) -> None:
    """Run the job and the launcher of its JVM, which write the classes at their ends."""
    os.environ[LAUNCHER_OPTIONS] = f"-XX:ArchiveClassesAtExit={launcher}"
    with tempfile.TemporaryDirectory(prefix="kraftgate-warm-") as folder:
        spark = session(
            Path(folder, "spark.log"), java_options=(f"-XX:ArchiveClassesAtExit={fresh}",)
        )
        log = Path(folder, f"{0:020d}.log")
        log.write_bytes(LOG)
        replay(log)
        gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  # PySpark has no public handle
        spark.stop()
        jvm = gateway.proc
        gateway.shutdown()
        jvm.stdin.close()
        deadline = time.monotonic() + _DUMP_S_MAX
        while jvm.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)


def _stay_in_background() -> None:
    """Be the first to end if memory is short, and end in any case."""
    with suppress(OSError):  # a container may not show it
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_END, encoding="ascii")
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(1))  # its files are removed
    signal.alarm(_BACKGROUND_S_MAX)


def copy_unsigned(jars: Path, to: Path) -> None:
    """Copy the signed ones of `jars` without their signatures to `to`, unless it exists."""
    if to.is_dir():
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        fresh = Path(folder, to.name)
        fresh.mkdir()
        for jar in sorted(jars.glob("*.jar")):
            with zipfile.ZipFile(jar) as signed:
                names = signed.namelist()
                if any(_SIGNATURE.fullmatch(each) for each in names):
                    with zipfile.ZipFile(fresh / jar.name, "w", zipfile.ZIP_DEFLATED) as copy:
                        for each in names:
                            if not _SIGNATURE.fullmatch(each):
                                copy.writestr(each, _without_digests(each, signed.read(each)))
        try:
            fresh.rename(to)
        except OSError:  # another process was faster
            if not to.is_dir():
                raise


def _without_digests(name: str, content: bytes) -> bytes:
    """Return a manifest's main section; its other sections are the digests of the classes."""
    if name != _MANIFEST:
        return content
    main, _, _ = content.partition(b"\r\n\r\n")
    return main + b"\r\n\r\n"


def forget_former() -> None:
    """Remove the archives of installations that were removed or replaced: each has 170 MB.

    A process that started before Java was replaced still uses its other files, of 1 MB.
    """
    ours = class_archive().with_suffix(".home")
    installed = (ours / "jars").resolve()
    for home in ours.parent.glob("spark-*.home"):
        jars = (home / "jars").resolve()
        if home != ours and (jars == installed or not jars.is_dir()):
            home.with_suffix(".jsa").unlink(missing_ok=True)
        if not jars.is_dir():
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--background"]:
        _stay_in_background()
    sys.exit(main())
