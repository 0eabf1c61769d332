"""A state directory whose hooks are all gone when the test ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.hooks.runs import HookRuns
from tests.orchestrator.execution.running import nothing_left_behind


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every process of the test carries its path."""
    monkeypatch.setenv("TEST_OF", str(tmp_path))
    with nothing_left_behind(tmp_path):
        yield tmp_path / "state"


@pytest.fixture
def runs(state: Path) -> HookRuns:
    return HookRuns(state)
