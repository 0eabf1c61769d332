"""`kraftgate replay`: runs the job over the files of a metadata log.

The JVM is started first: whatever is not needed for that is imported while it starts.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli.framework import json_option, log_options
from orchestrator.errors import ConfigError, KraftgateError, NoDataError, PathError
from orchestrator.process.crash import of_system
from streams.state.recovery import REPLAYED, REPLAYED_UNTIL_DAMAGE

if TYPE_CHECKING:
    from streams.spark.query import ReplayOutcome

CLUSTER: Final = "replay"
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the store and the replicas' transitions in this directory.",
)
@log_options
def replay(path: Path, *, as_json: bool, state_dir: Path | None) -> None:
    """Run the job over a metadata log to its end, and print the state there.

    PATH is a __cluster_metadata-0 directory, one .checkpoint, or the .log that begins at offset 0.
    If a file is damaged, or the records before it are missing, the command exits with 1 and prints
    one line to stderr, and still prints the state up to the last good batch. It exits with 4 if the
    files have no record; then the phase is unknown.

    \b
    Example:
      kraftgate replay /var/lib/kafka/__cluster_metadata-0 --json | jq .phase
    """
    with _ended_in_order():
        outcome = replayed(path, state_dir, CLUSTER, _SLOW_IN_JSON if as_json else _SLOW_AS_TEXT)
    (_print_json if as_json else _print)(outcome)
    _archive_classes()
    if outcome.damage is not None:
        raise KraftgateError(outcome.damage)
    if outcome.summary is None or outcome.summary.metadata_offset is None:
        raise NoDataError(
            f"{path}: no record was read: its files have none. Call `kraftgate replay` with the log"
            " of another controller or broker"
        )


_SLOW_IN_JSON: Final = ("orchestrator.api.status",)
_SLOW_AS_TEXT: Final = ("orchestrator.output.rich_console", "orchestrator.views.terminal.closing")
"""The slow imports (up to half a second) of the functions below, done while the JVM starts."""


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


def _archive_classes() -> None:
    from streams.spark.session import archive_classes

    archive_classes()


def _print(outcome: "ReplayOutcome") -> None:
    from migration.assessment.waits import nothing_seen
    from orchestrator.output.printing import echo
    from orchestrator.output.rich_console import console
    from orchestrator.views.terminal.closing import closing, event_line

    for event in outcome.events:
        echo(event_line(event))
    echo()
    console().print(closing(outcome.summary or nothing_seen(CLUSTER)))


def _print_json(outcome: "ReplayOutcome") -> None:
    from migration.assessment.waits import nothing_seen
    from orchestrator.api.status import cluster_json
    from orchestrator.output.printing import echo_json

    summary = outcome.summary or nothing_seen(CLUSTER)
    echo_json(cluster_json(summary, outcome.events, complete=outcome.damage is None))


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does; not a SIGHUP that nohup ignores."""
    before = {each: signal.getsignal(each) for each in _ENDS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for each in _ENDS:  # a terminal that is closed, or a host that goes down, sends both
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
