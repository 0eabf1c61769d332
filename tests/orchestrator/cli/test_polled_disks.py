"""Why the disks could not be polled, and what to do: start it only if it does not run."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from migration.observed.source_status import NO_STATUS, SourceStatus
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from streams.state.claim import claimed
from streams.state.source_status import write_status
from tests.scenes.night import NOW_MS

CURRENT = SourceStatus(observed_ms=NOW_MS, last_reply_ms=NOW_MS)
UNANSWERED = replace(CURRENT, last_reply_ms=None, waiting="b1:9092: refused")
ERROR = replace(CURRENT, error="b1:9092: not authorized")
SILENT = replace(CURRENT, observed_ms=NOW_MS - 60_000)
START = "start `kraftgate run`"
RESTART = "restart `kraftgate run`: it does not report"
LATE = "`kraftgate run` did not store their state in time: retry, then restart `kraftgate run`"


@pytest.mark.parametrize(
    ("status", "is_running", "reason"),
    [
        (NO_STATUS, None, START),
        (SILENT, None, START),
        (SILENT, False, START),
        (CURRENT, False, START),
        (NO_STATUS, True, RESTART),
        (SILENT, True, RESTART),
        (UNANSWERED, True, "the brokers do not answer"),
        (ERROR, True, "b1:9092: not authorized"),
        (CURRENT, True, LATE),
    ],
)
def test_run_is_to_be_started_only_if_it_does_not_run(
    config_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: SourceStatus,
    is_running: bool | None,
    reason: str,
) -> None:
    """`is_running` None: no process ever used the state directory."""
    config_file.write_text(config_file.read_text() + "brokers: {bootstrap: 'b1:9092'}\n")
    state_dir = config_file.parent / "state"
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)
    with ExitStack() as stack:
        if is_running is not None:
            stack.enter_context(claimed(state_dir))
        if is_running is False:
            monkeypatch.setattr("streams.state.claim.Holder.is_running", lambda _: False)
        if status != NO_STATUS:
            write_status(state_dir / "clusters" / "prod" / "log_dirs.json", status)
        said = CliRunner().invoke(main, ["hazards", "--config", str(config_file)])
    assert said.exit_code == ExitCode.NO_DATA
    assert f"prod: not known: the disks could not be polled now: {reason}\n" in said.stdout
