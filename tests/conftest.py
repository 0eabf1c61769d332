"""Mixes the files: a cluster test waits for half of its time, and leaves the processor to others.

`long(minutes)` is the approximate duration of a file. Of each kind, the longest file starts first,
so that the workers end at about the same time; what waits behind it is short.
"""

import gc
import heapq
import importlib
import os
import re
import signal
import time
from collections.abc import Generator, Iterator
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Final

import hypothesis
import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

from orchestrator.views.console import third_party
from tests.support.own_logging import logging_kept

# The duration of an example depends on the machine and is not checked; `make bench` measures.
# Make Hypothesis deterministic in CI (.ci/run); `make test` tries other examples each time.
hypothesis.settings.register_profile(
    "kraftgate", deadline=None, derandomize="KRAFTGATE_CI_RUN" in os.environ
)
hypothesis.settings.register_profile(
    "fast", hypothesis.settings.get_profile("kraftgate"), max_examples=5
)
hypothesis.settings.load_profile("kraftgate")

_UMASK = 0o077
"""Tests write secret files, which must be private, and files of Kraftgate's own."""
os.umask(_UMASK)

# Screens have local times.
os.environ["TZ"] = "UTC"
time.tzset()

# Tests use names of hosts that do not exist. A lost reply of the name server costs 5 s otherwise.
os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"

# What collecting the tests creates stays until the end: scanning it takes a quarter of the time
# of collecting, and a sixth of that of `make test-fast`.
gc.disable()

# A worker ignores Ctrl-C, as does what a shell starts in the background; children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


_NONE_OF: Final = re.compile(r"not \w+( and not \w+)*")
_OF_THE_WHOLE_FILE: Final = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)
_MARK: Final = re.compile(r"\bpytest\.mark\.(\w+)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests are all deselected: the import takes longer than the rest.

    Nor the conftest.py of a folder of such files. A file that is named on the command line is
    collected all the same.
    """
    if _NONE_OF.fullmatch(config.option.markexpr) is None:
        return None
    deselected = set(config.option.markexpr.split()) - {"not", "and"}
    is_folder = collection_path.is_dir()
    files = [*collection_path.rglob("test_*.py")] if is_folder else [collection_path]
    left_out = (bool(deselected & marks_of_the_whole_file(each)) for each in files)
    return True if files and all(left_out) else None


def marks_of_the_whole_file(path: Path) -> set[str]:
    """Return the names of the marks in `pytestmark`, without an import of the file."""
    if not path.match("test_*.py"):
        return set()
    found = _OF_THE_WHOLE_FILE.search(path.read_text("utf-8"))
    return set(_MARK.findall(found[1])) if found else set()


@pytest.fixture(scope="session", autouse=True)
def _third_party_modules() -> None:
    """Install the console's modules in a tree that `make` did not set up."""
    third_party.ensure()


@pytest.fixture(scope="session", autouse=True)
def _as_installed() -> None:
    """Hide Hypothesis from the processes that tests start.

    kio imports it where it is installed: a fifth of a second in each of hundreds of processes.
    """
    hidden = str(Path(__file__).parent / "support" / "not_installed")
    paths = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([hidden, paths] if paths else [hidden])


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Give the umask back: a test that prepares a state directory in this process changes it."""
    yield
    os.umask(_UMASK)


@pytest.fixture(autouse=True)
def _logging_kept() -> Iterator[None]:
    """Some tests run a command in this process, which sets up logging for a process of its own."""
    with logging_kept():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("lab"):
        _lab_logs().watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the errors that the lab's nodes logged to the report of a failed test."""
    report = yield
    if report.failed and item.get_closest_marker("lab"):
        report.sections += _lab_logs().sections()
    return report


def _lab_logs() -> ModuleType:
    """Return the module; only the tests with a lab import the lab."""
    return importlib.import_module("tests.support.lab_logs")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


class _Scheduler(LoadFileScheduling):  # type: ignore[misc]
    """Lets only short files wait behind a long one.

    A worker gets the next file before it begins the last test of the present one, and of many long
    files the last test is the only one. The shortest files are at the end.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        files = self.assigned_work.get(node, {}).values()
        begun = [file for file in files if not all(file.values())]
        if begun and all(len(file) <= _TESTS_OF_A_LONG_FILE_MAX for file in begun):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        """Give the files that share a Spark session, or a browser, to one worker, as one file."""
        file = _file(nodeid)
        return _IN_ONE_BROWSER if file.startswith(_IN_ONE_BROWSER) else file


_TESTS_OF_A_LONG_FILE_MAX = 2
_IN_ONE_SESSION = (
    "tests/system/test_strangers.py",
    "tests/streams/spark/test_worker_daemon.py",
    "tests/oracle/test_agreement.py",
    "tests/system/test_replay.py",
    "tests/fuzz/test_whole_logs.py",
    "tests/streams/spark/test_shards.py",
    "tests/system/test_without_controllers.py",
    "tests/bench/test_empty_job.py",
)
"""Each would start a session of its own, which takes ten seconds of the processor's time.

They run in this order: the first starts the session with a umask that hides nothing, and the second
examines workers that did little before. The mark of the first is the duration of all.
"""
_IN_ONE_BROWSER = "tests/orchestrator/views/browser/"
"""The mark of the longest file, `test_migration.py`, is the duration of all."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Scheduler | None:
    return _Scheduler(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(_file(item.nodeid), []).append(item)
    files.get(_IN_ONE_SESSION[0], []).sort(
        key=lambda item: _IN_ONE_SESSION.index(item.nodeid.partition("::")[0])
    )
    clusters = [each for each in files.values() if _marked(each, "lab")]
    others = [each for each in files.values() if not _marked(each, "lab")]
    mixed = sorted([*_starts(clusters, 0.5, 4), *_starts(others, 0.05, 2)], key=itemgetter(0))
    items[:] = [item for _, file in mixed for item in file]


def _file(nodeid: str) -> str:
    """Return the test's file; those in one Spark session are one."""
    file = nodeid.partition("::")[0]
    return _IN_ONE_SESSION[0] if file in _IN_ONE_SESSION else file


def _starts(
    files: list[list[pytest.Item]], minutes: float, workers: int
) -> Iterator[tuple[float, list[pytest.Item]]]:
    """Yield when each file would start if `workers` ran these files alone, as a share of the time.

    Spark's files are the last of those that take equally long. `minutes` is the duration of a file
    without the mark.
    """
    ends, starts = [0.0] * workers, []
    for file in sorted(files, key=lambda each: (-_minutes(each), _marked(each, "spark"))):
        start = heapq.heappop(ends)
        heapq.heappush(ends, start + (_minutes(file) or minutes))
        starts.append((start, file))
    yield from ((start / max(ends), file) for start, file in starts)


def _minutes(file: list[pytest.Item]) -> float:
    marks = [mark for item in file if (mark := item.get_closest_marker("long"))]
    return max((float(mark.kwargs["minutes"]) for mark in marks), default=0.0)


def _marked(file: list[pytest.Item], name: str) -> bool:
    return any(item.get_closest_marker(name) for item in file)
