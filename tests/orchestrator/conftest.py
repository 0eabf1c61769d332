"""A configuration file, a fake store in place of the real one, and the time the tests live in."""

from pathlib import Path

import pytest

from orchestrator.run import reader
from tests.scenes.night import EVENTS, FRESH, HYBRID, NOW_MS
from tests.support.fake_store import FakeStore, write_status


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    file = tmp_path / "kraftgate.yaml"
    file.write_text(
        "cluster: {name: prod}\ncontrollers: {bootstrap: 'c1:9093'}\nstate_dir: state\n"
    )
    return file


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    """The store of `config_file`, with the night's hybrid state and a fresh source."""
    fake = FakeStore()
    fake.summaries["prod"] = HYBRID.summary
    fake.told["prod"] = list(EVENTS)
    write_status(tmp_path / "state", "prod", FRESH)
    monkeypatch.setattr(reader.Reader.__init__, "__kwdefaults__", {"opener": lambda _: fake})
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)
    return fake
