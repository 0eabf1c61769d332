"""Why the disks could not be polled, and what to do: start it only if it does not run."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.observed.source_status import NO_STATUS, SourceStatus
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from orchestrator.run.probes.probes import disks_polled
from streams.log_dirs.poll_requests import REQUESTS, PollRequests
from streams.state.claim import claimed
from streams.state.source_status import write_status
from tests.scenes.night import NOW_MS
from tests.support.small_volume import read_only

CURRENT = SourceStatus(observed_ms=NOW_MS, last_reply_ms=NOW_MS)
UNANSWERED = replace(CURRENT, last_reply_ms=None, waiting="b1:9092: refused")
ERROR = replace(CURRENT, error="b1:9092: not authorized")
SILENT = replace(CURRENT, observed_ms=NOW_MS - 60_000)
START = "start `kraftgate run`"
STARTS = "`kraftgate run` starts: wait until it reports"
RESTART = "restart `kraftgate run`: it does not report"
LATE = (
    "`kraftgate run` did not store their state in time: retry, with a longer time-out if the"
    " command has one; if that does not help, restart `kraftgate run`"
)


@pytest.mark.parametrize(
    ("status", "is_running", "since_s", "reason"),
    [
        (NO_STATUS, None, 0, START),
        (SILENT, None, 0, START),
        (SILENT, False, 0, START),
        (CURRENT, False, 0, START),
        (NO_STATUS, True, 0, STARTS),
        (SILENT, True, 20, STARTS),
        (NO_STATUS, True, 3_600, RESTART),
        (SILENT, True, 3_600, RESTART),
        (UNANSWERED, True, 0, "the brokers do not answer"),
        (ERROR, True, 0, "b1:9092: not authorized"),
        (CURRENT, True, 0, LATE),
    ],
)
def test_run_is_to_be_started_only_if_it_does_not_run(
    config_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: SourceStatus,
    is_running: bool | None,
    since_s: int,
    reason: str,
) -> None:
    """`is_running` None: no process ever used the state directory."""
    config_file.write_text(config_file.read_text() + "brokers: {bootstrap: 'b1:9092'}\n")
    state_dir = config_file.parent / "state"
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)
    monkeypatch.setattr("streams.state.claim.Holder.since_ms", NOW_MS - since_s * 1000)
    with ExitStack() as stack:
        if is_running is not None:
            stack.enter_context(claimed(state_dir))
        if is_running is False:
            monkeypatch.setattr("streams.state.claim.Holder.is_running", lambda _: False)
        state_dir.mkdir(exist_ok=True)
        if status != NO_STATUS:
            write_status(state_dir / "clusters" / "prod" / "log_dirs.json", status)
        said = CliRunner().invoke(main, ["hazards", "--config", str(config_file)])
    assert said.exit_code == ExitCode.NO_DATA
    assert (
        f"prod: not known: the log directories could not be polled now: {reason}\n" in said.stdout
    )


def test_a_request_that_cannot_be_written_names_the_file_and_the_reason(config_file: Path) -> None:
    """In a container, the state directory of the running process may be mounted read-only."""
    config_file.write_text(config_file.read_text() + "brokers: {bootstrap: 'b1:9092'}\n")
    state_dir = config_file.parent / "state"
    file = state_dir / "clusters" / "prod" / REQUESTS
    with claimed(state_dir), PollRequests(file):
        said = read_only(state_dir, "hazards", "--config", str(config_file))
    assert said.returncode == ExitCode.NO_DATA
    why = (
        f"the request cannot be written to {file}: Read-only file system: make the state directory"
        " writable"
    )
    assert f"prod: not known: the log directories could not be polled now: {why}\n" in said.stdout


def test_a_request_that_the_file_does_not_take_is_not_called_late(config_file: Path) -> None:
    config_file.write_text(config_file.read_text() + "brokers: {bootstrap: 'b1:9092'}\n")
    file = config_file.parent / "state" / "clusters" / "prod" / REQUESTS
    with claimed(config_file.parent / "state"):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"damaged" * 1000)
        said = CliRunner().invoke(main, ["hazards", "--config", str(config_file)])
    assert said.exit_code == ExitCode.NO_DATA
    why = f"{file} cannot be opened: file is not a database"
    assert f"prod: not known: the log directories could not be polled now: {why}\n" in said.stdout


def test_an_error_of_the_disk_is_a_reason_and_does_not_end_the_thread_that_polls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("streams.log_dirs.poll_requests.poll_disks", fail)
    found = disks_polled(tmp_path, "prod", "a checkpoint")
    assert found is not None
    assert found.why.startswith(
        f"the log directories could not be polled now: {tmp_path}: Permission denied: let user"
    )
