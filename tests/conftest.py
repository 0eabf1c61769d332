"""Runs the tests in the order of what they cost: plain ones, Spark's, then those on a cluster."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> int:
    if item.get_closest_marker("lab"):
        return 2
    return 1 if item.get_closest_marker("spark") else 0
