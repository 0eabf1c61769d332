"""What a replay refuses before it starts the job."""

from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.run.job import replayed


def test_a_state_directory_of_another_replay_is_refused(tmp_path: Path) -> None:
    """The second log would be read from the offset at which the first one ended."""
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    state = tmp_path / "kept"
    (state / "state").mkdir(parents=True)
    (state / "lock").touch()
    with pytest.raises(ConfigError, match="has the state of another replay: delete it"):
        replayed(log, state, "replay")
