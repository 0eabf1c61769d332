"""`kraftgate alerts list`: active, pending, and unknown alerts."""

import json
import socket
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from migration.assessment.alerts import AlertStates
from migration.image.summary import Phase
from migration.observed.source_status import SourceStatus
from orchestrator.cli.program import main
from orchestrator.config.load import load_config
from orchestrator.errors import ExitCode
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Assessor
from orchestrator.run.reader import Reader
from streams.state.claim import LOCK_FILE, Holder
from tests.scenes.night import FRESH, NOW_MS, cluster
from tests.support.fake_store import FakeStore, write_status

UTC = "2026-09-21 14:13:20 UTC"
"""NOW_MS."""


def run_tick(config_file: Path) -> None:
    config = load_config(config_file)
    assessor = Assessor(config, Reader(config, newest=1))
    AlertFiles(config).keep(assessor.tick(NOW_MS).alerts)


def list_(config_file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["alerts", "list", "--config", str(config_file), *arguments])


def as_json(config_file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(list_(config_file, "--json").stdout)
    return found


def test_no_alert_is_active_if_current_data_shows_that(config_file: Path, store: FakeStore) -> None:
    store.summaries["prod"] = cluster(Phase.HYBRID)
    run_tick(config_file)
    said = list_(config_file)
    assert said.exit_code == ExitCode.DONE, said.output
    assert said.stdout.startswith("no alert is active\n")
    assert as_json(config_file) == {
        "alerts": [],
        "receivers": [],
        "pending_alerts": [],
        "unknown": [],
    }


def test_the_reports_of_a_process_that_was_killed_are_not_current(
    config_file: Path, store: FakeStore, tmp_path: Path
) -> None:
    """Its last reports are recent; the process is known to have ended."""
    store.summaries["prod"] = cluster(Phase.HYBRID)
    run_tick(config_file)
    killed = Holder(
        host=socket.gethostname(), pid=1, after_boot_s=-1.0, command="kraftgate run", since=""
    )
    (tmp_path / "state" / LOCK_FILE).write_text(json.dumps(asdict(killed)))
    status = CliRunner().invoke(main, ["status", "--config", str(config_file)])
    assert "Start kraftgate run: it has ended" in status.stdout
    for said in (status, list_(config_file)):
        assert said.exit_code == ExitCode.NO_DATA
        assert "prod: stale data, waiting for kraftgate run: it has ended" in said.stderr


def test_without_any_answer_alerts_are_unknown(
    config_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All addresses have refused since the start: no alert fires, and nothing is known."""
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)
    refused = SourceStatus(observed_ms=NOW_MS, waiting="c1:9093: refused")
    write_status(tmp_path / "state", "prod", refused)
    AlertFiles(load_config(config_file)).keep({"prod": AlertStates(at_ms=NOW_MS)})
    said = list_(config_file)
    assert said.exit_code == ExitCode.NO_DATA
    assert said.stdout.startswith("prod: unknown: no data, waiting for ")
    assert "no alert is active" not in said.stdout
    why = said.stderr.removeprefix("kraftgate: ").strip()
    assert said.stdout.splitlines()[0] == why.replace("prod: ", "prod: unknown: ", 1)
    status = CliRunner().invoke(main, ["status", "--config", str(config_file)])
    assert (status.exit_code, status.stderr) == (said.exit_code, said.stderr), "one rule"
    assert as_json(config_file)["unknown"] == [why]


def test_a_pending_alert_is_listed_with_when_it_becomes_active(
    config_file: Path, store: FakeStore, tmp_path: Path
) -> None:
    """The only controller was killed a moment ago."""
    store.summaries["prod"] = cluster(Phase.HYBRID)
    killed = replace(FRESH, observed_ms=NOW_MS, last_reply_ms=NOW_MS - 16_000)
    write_status(tmp_path / "state", "prod", killed)
    run_tick(config_file)
    said = list_(config_file)
    assert said.exit_code == ExitCode.NO_DATA
    assert "pending: critical: What Kraftgate knows of prod from the metadata log" in said.stdout
    assert (
        "  KraftgateStreamStale (cluster prod, source metadata_log), pending since"
        f" {UTC}, active from 2026-09-21 14:15:20 UTC if it lasts\n"
    ) in said.stdout
    assert "prod: unknown: stale data, waiting for a controller to answer" in said.stdout
    assert "no alert is active" not in said.stdout
    (pending,) = as_json(config_file)["pending_alerts"]
    assert (pending["name"], pending["stands_since"]) == ("KraftgateStreamStale", None)
    assert as_json(config_file)["alerts"] == []


def test_a_store_that_cannot_be_read_hides_no_alert(config_file: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    AlertFiles(load_config(config_file)).keep({"prod": AlertStates(at_ms=NOW_MS)})
    (tmp_path / "state" / "store.db").write_bytes(b"junk" * 1000)
    said = list_(config_file)
    assert said.exit_code == ExitCode.NO_DATA
    assert "prod: unknown: " in said.stdout
    assert "file is not a database" in said.stderr


def test_without_a_run_alerts_are_unknown(config_file: Path, store: FakeStore) -> None:
    store.summaries["prod"] = cluster(Phase.HYBRID)
    AlertFiles(load_config(config_file)).keep({"prod": AlertStates(at_ms=NOW_MS - 60_000)})
    said = list_(config_file)
    assert said.exit_code == ExitCode.NO_DATA
    assert said.stdout.startswith("prod: unknown: no `kraftgate run` assesses alerts now\n")
    assert said.stderr == "kraftgate: prod: no `kraftgate run` assesses alerts now\n"
