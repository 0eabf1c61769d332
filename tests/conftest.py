"""Runs the long tests first, then the others by cost: plain tests, Spark tests, cluster tests.

`long(minutes)` is the approximate duration of a file. The longest file starts first, so that two
workers end at about the same time.
"""

import importlib
import os
import signal
from collections.abc import Generator, Iterator
from types import ModuleType

import hypothesis
import pytest

from orchestrator.views.console import third_party

# The duration of an example depends on the machine and is not checked; `make bench` measures.
# Make Hypothesis deterministic in CI (.ci/run); `make test` tries other examples each time.
hypothesis.settings.register_profile(
    "kraftgate", deadline=None, derandomize="KRAFTGATE_CI_RUN" in os.environ
)
hypothesis.settings.register_profile(
    "fast", hypothesis.settings.get_profile("kraftgate"), max_examples=10
)
hypothesis.settings.load_profile("kraftgate")

_UMASK = 0o077
"""Tests write secret files, which must be private, and files of Kraftgate's own."""
os.umask(_UMASK)

# A worker ignores Ctrl-C, as does what a shell starts in the background; children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _third_party_modules() -> None:
    """Install the console's modules in a tree that `make` did not set up."""
    third_party.ensure()


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Give the umask back: a test that prepares a state directory in this process changes it."""
    yield
    os.umask(_UMASK)


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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> tuple[float, int]:
    long = item.get_closest_marker("long")
    minutes = float(long.kwargs["minutes"]) if long else 0.0
    spark, lab = item.get_closest_marker("spark"), item.get_closest_marker("lab")
    return -minutes, 2 if lab else 1 if spark else 0
