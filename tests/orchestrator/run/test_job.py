"""What a replay refuses before it starts the job."""

from pathlib import Path

import pytest

from orchestrator.cli.replay import replayed
from orchestrator.errors import ConfigError
from streams.spark import query
from streams.spark.query import ReplayOutcome


def test_a_state_directory_of_another_replay_is_refused(tmp_path: Path) -> None:
    """The second log would be read from the offset at which the first one ended."""
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    state = tmp_path / "kept"
    (state / "state" / "clusters").mkdir(parents=True)
    (state / "lock").touch()
    with pytest.raises(ConfigError, match="has the state of another replay: delete it"):
        replayed(log, state, "replay")


def test_a_replay_that_did_not_begin_leaves_its_directory_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one whose JVM did not start: it left only the output of the JVM."""
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    state = tmp_path / "kept"
    (state / "state").mkdir(parents=True)
    (state / "state" / "spark.log").touch()
    (state / "lock").touch()
    outcome = ReplayOutcome(summary=None, events=(), damage=None)
    monkeypatch.setattr(query, "replay", lambda *_: outcome)
    assert replayed(log, state, "replay") is outcome
