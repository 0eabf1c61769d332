"""What executors on other hosts need: Kraftgate's packages, and the state directory.

The packages are shipped as an archive, which Spark unpacks in each executor's working directory.
The state directory is on a shared file system: executors read the spools and journals there, and
write transitions and the shards' states.
"""

import os
import re
import secrets
import shutil
import socket
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark import RDD
from pyspark.sql import SparkSession

from streams.state.files import replace_file, try_lock

PACKAGES: Final = "kraftgate-packages"
"""The directory of the unpacked archive, in the working directory of an executor."""
_CHECK: Final = "executors"
_OWN: Final = ("migration", "streams")
_OF_SPARK: Final = frozenset({"pyspark", "py4j"})
"""Executors have these from their own Spark, which must be of the same release."""
_UNUSED: Final = frozenset({"tests", "include", "__pycache__"})
_CHECKS_PER_CORE: Final = 4
START_S_MAX: Final = 60.0
_POLL_S: Final = 0.25
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_OF_AN_EXTRA: Final = re.compile(r"\bextra\s*==")


class NotShared(Exception):
    """There is no executor, or it cannot use the state directory; the message has the fix."""


def write_archive(path: Path) -> None:
    """Write the archive of `migration`, `streams` and the packages that they require.

    Raises:
        OSError: it cannot be written.
    """
    house = Path(__file__).resolve().parents[2]
    with tarfile.open(path, "w") as archive:
        for own in _OWN:
            archive.add(house / own, own, filter=_used)
        for each in _required("kraftgate"):
            for file in each.files or ():
                if ".." not in file.parts and not _UNUSED.intersection(file.parts):
                    archive.add(Path(str(each.locate_file(file))), str(file))


def _used(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _UNUSED.intersection(Path(member.name).parts) else member


def _required(root: str) -> Iterator[Distribution]:
    """Yield the installed distributions that one requires, without that one and Spark."""
    seen, left = {root, *_OF_SPARK}, [distribution(root)]
    while left:
        for requirement in left.pop().requires or ():
            name = _NAME.match(requirement)
            if name is None or name[0] in seen or _OF_AN_EXTRA.search(requirement):
                continue
            seen.add(name[0])
            # Absent: for another system or another Python.
            with suppress(PackageNotFoundError):
                found = distribution(name[0])
                left.append(found)
                yield found


_Seen: TypeAlias = tuple[str, str | None]
"""The host of a task, and the problem; None: its executor can use the directory."""


def check_shared(spark: SparkSession, state_dir: Path, check_start: Callable[[], None]) -> None:
    """Check in the executors that they share the state directory, its locks and its renames.

    `check_start` is called while they are waited for; its error ends the wait.

    Raises:
        NotShared: one of them does not; other hosts may be missing, if they have no executor yet.
        OSError: the driver cannot write the directory.
    """
    folder = state_dir.absolute() / _CHECK
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        _check(spark, state_dir, folder, check_start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # after an error, a task may still write there


def _check(
    spark: SparkSession, state_dir: Path, folder: Path, check_start: Callable[[], None]
) -> None:
    word = secrets.token_hex(8)
    replace_file(folder / "driver", word)
    context = spark.sparkContext
    tasks = _CHECKS_PER_CORE * max(2, context.defaultParallelism)
    with (folder / "driver").open("rb") as held:
        try_lock(held.fileno())
        found = context.parallelize(range(tasks), tasks).map(partial(_see, str(folder), word))
        seen = _collected(found, check_start)
    written = {task for task in range(tasks) if _written(folder, task, word)}
    for task, (host, problem) in enumerate(seen):
        if problem is None and task not in written:
            problem = "files that it renames are not visible here"
        if problem is not None:
            raise NotShared(
                f"`state_dir` {state_dir} cannot be used by the executor on {host}: {problem}."
                " Set a directory of a file system that all hosts share, with locks across hosts"
            )


def _collected(found: RDD[_Seen], check_start: Callable[[], None]) -> list[_Seen]:
    """Collect in a thread, since nothing interrupts the call; it ends at the session's end."""
    context = found.context
    pool = ThreadPoolExecutor(1)
    answer = pool.submit(found.collect)
    pool.shutdown(wait=False)
    jvm: Any = context._jsc.sc()  # noqa: SLF001  # PySpark has no public way to the executors
    deadline_s: float | None = time.monotonic() + START_S_MAX
    while not answer.done():
        wait([answer], _POLL_S)
        check_start()
        if deadline_s is None or jvm.getExecutorMemoryStatus().size() > 1:  # the driver is one
            deadline_s = None
        elif time.monotonic() >= deadline_s:
            raise NotShared(
                f"no executor of {context.master} has started within {START_S_MAX:.0f} s: check"
                " that workers are registered there, with free cores and memory"
                " (`spark.executor.memory`)"
            )
    return answer.result()


def _see(folder: str, word: str, task: int) -> _Seen:
    """Run in an executor."""
    return socket.gethostname(), _problem(Path(folder), word, task)


def _problem(folder: Path, word: str, task: int) -> str | None:
    try:
        with (folder / "driver").open("rb") as file:
            if file.read().decode() != word:
                return "it reads an old version of a file"
            if try_lock(file.fileno()):
                return "it gets a lock that the driver holds"
        replace_file(folder / f"{task}", word)
    except FileNotFoundError:
        return "there is no such directory"
    except OSError as error:
        return f"user {os.geteuid()}: {error.strerror or error}"
    return None


def _written(folder: Path, task: int, word: str) -> bool:
    try:
        return (folder / f"{task}").read_text("utf-8") == word
    except OSError:
        return False
