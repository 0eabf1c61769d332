"""Runs the job of `streams` over files, and translates its errors.

The JVM is started first: whatever is not needed for that is imported while it starts.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import ConfigError, KraftgateError, PathError
from orchestrator.process.crash import of_system
from streams.state.recovery import REPLAYED, REPLAYED_UNTIL_DAMAGE

if TYPE_CHECKING:
    from streams.spark.query import ReplayOutcome


def replayed(
    path: Path, state_dir: Path | None, cluster: str, meanwhile: Sequence[str] = ()
) -> "ReplayOutcome":
    """Run the job over the files of a metadata log to their end.

    `meanwhile`: modules that the caller needs afterwards.

    Raises:
        PathError: there is no metadata log at `path`.
        ConfigError: `state_dir` cannot be written, other users can change it, or it has the
            state of another replay.
        LockHeld: another process uses `state_dir`.
        KraftgateError: the job failed.
    """
    from streams.metadata.log_files import NotAMetadataLog, require_log

    try:
        require_log(path)
        with _claimed(state_dir):
            _require_unused(state_dir)
            return _replayed(path, state_dir, cluster, meanwhile)
    except NotAMetadataLog as error:
        raise PathError(str(error)) from error
    except OSError as error:
        raise KraftgateError(of_system(error)) from error


def _claimed(state_dir: Path | None) -> AbstractContextManager[object]:
    if state_dir is None:
        return nullcontext()
    from orchestrator.config.state_dir import claiming

    return claiming(state_dir, "--state-dir")


def _require_unused(state_dir: Path | None) -> None:
    """Raise ConfigError if a replay began there: this one would continue it."""
    if state_dir is not None and any(
        (state_dir / replay / each).exists()
        for replay in (REPLAYED, REPLAYED_UNTIL_DAMAGE)
        for each in ("store.db", "checkpoint", "clusters")
    ):
        used = f"{state_dir} has the state of another replay"
        raise ConfigError([f"{used}: delete it, or name another directory with --state-dir"])


def _replayed(
    path: Path, state_dir: Path | None, cluster: str, meanwhile: Sequence[str]
) -> "ReplayOutcome":
    from streams.spark.query import JobFailed, replay
    from streams.spark.session import import_meanwhile

    import_meanwhile(*meanwhile)
    try:
        return replay(path, state_dir, cluster)
    except JobFailed as error:
        raise KraftgateError(str(error)) from error
