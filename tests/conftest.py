"""Runs the tests in the order of what they cost: plain ones, Spark's, then those on a cluster.

Of the latter the long ones first, so that two files at a time end at about the same moment.
"""

import os
import signal

import hypothesis
import pytest

# How long an example takes is the machine's affair; `make bench` measures.
hypothesis.settings.register_profile("kraftgate", deadline=None)
hypothesis.settings.load_profile("kraftgate")

if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker ignores Ctrl-C, and whatever it starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> int:
    if item.get_closest_marker("lab"):
        return 2 if item.get_closest_marker("long") else 3
    return 1 if item.get_closest_marker("spark") else 0
