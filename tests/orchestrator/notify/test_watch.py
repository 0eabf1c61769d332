"""The alerts at the looks of `kraftgate run`, kept for `status` and for the next run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migration.assessment.alerts import NO_ALERTS
from migration.image.summary import Phase
from migration.observed.source_status import SourceStatus
from orchestrator.audit import AuditLog
from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import Config, load_config
from orchestrator.notify.notifier import Notifier
from orchestrator.run import alert_file
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Assessor, Tick
from orchestrator.run.reader import Reader
from orchestrator.run.recorder import AuditRecorder
from orchestrator.views.terminal.live import Stop
from tests.orchestrator.run.test_run import gate
from tests.scenes.night import FRESH, HYBRID, NOW_MS, cluster, held
from tests.support.assessing import tick
from tests.support.fake_store import FakeFollowing, FakeStore, write_status

STALLED = cluster(Phase.HYBRID, held(3, progress=None, registered_ms=NOW_MS - 400_000))
NAME = "KraftgateAssignmentStalled"


def stalled(at_ms: int = 0) -> Tick:
    """A stalled broker, so many ms after NOW_MS."""
    status = replace(FRESH, observed_ms=NOW_MS + at_ms, last_reply_ms=NOW_MS + at_ms)
    return tick([replace(HYBRID, summary=STALLED, status=status)], NOW_MS + at_ms)


def assessor(config: Config, log: AuditLog | None = None) -> Assessor:
    return Assessor(config, Reader(config, newest=1), log)


def status(config_file: Path) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["status", "--config", str(config_file), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_next_run_begins_with_the_alerts_that_are_active(
    config_file: Path, store: FakeStore
) -> None:
    config = load_config(config_file)
    store.summaries["prod"] = STALLED
    first = assessor(config).tick(NOW_MS)
    AlertFiles(config).keep(first.alerts)
    (one,) = first.clusters
    assert one.assessment.snapshot.alerts == NO_ALERTS
    assert [each.alert.name for each in one.assessment.alerts.active()] == [NAME]
    (again,) = assessor(config).tick(NOW_MS).clusters
    assert again.assessment.snapshot.alerts == one.assessment.alerts


@pytest.mark.parametrize("left", [b"", None])
def test_the_next_run_does_not_resolve_the_alerts_of_a_lost_file(
    config_file: Path, store: FakeStore, left: bytes | None
) -> None:
    """A power cut emptied it, and no source answers yet."""
    config = load_config(config_file)
    store.summaries["prod"] = STALLED
    file = alert_file.file_of(config, "prod")
    with AuditLog.open(config.state_dir / "audit.db") as log:
        first = assessor(config, log).tick(NOW_MS)
        AlertFiles(config).keep(first.alerts)
        AuditRecorder(config, log).tick(first)
        file.unlink() if left is None else file.write_bytes(left)
        silent = SourceStatus(observed_ms=NOW_MS + 70_000, waiting="no controller reachable")
        write_status(config.state_dir, "prod", silent)
        again, recorder = assessor(config, log), AuditRecorder(config, log)
        for at_ms in (NOW_MS + 70_000, NOW_MS + 140_000):
            tick = again.tick(at_ms)
            recorder.tick(tick)
            (one,) = tick.alerts["prod"].active()
            (before,) = first.alerts["prod"].active()
            assert one.alert.fingerprint == before.alert.fingerprint
            assert (one.active_since_ms, one.is_known) == (before.active_since_ms, False)
        assert "alert_ended" not in {each.kind for each in log.entries("prod")}


def test_alerts_are_kept_before_a_receiver_gets_them(
    config_file: Path, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(config_file)
    store.summaries["prod"] = STALLED
    kept: list[bool] = []

    def submit(_: Notifier, now: Tick) -> None:
        file = alert_file.read(alert_file.file_of(config, "prod"))
        kept.append(file.active() == now.alerts["prod"].active())

    monkeypatch.setattr(Notifier, "submit", submit)
    with Stop() as stop:
        query = FakeFollowing(lambda _: stop.set())
        follow_and_show(config, gate(None), stop, query.follow)
    assert kept
    assert kept[0]


def test_what_cannot_be_kept_is_said_and_stops_nothing(
    config_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config(config_file)
    config.state_dir.write_text("this is no directory")
    AlertFiles(config).keep(stalled().alerts)
    assert "the alerts of prod cannot be saved" in caplog.text


def test_status_says_what_run_judged_and_what_it_sees_itself(
    config_file: Path, store: FakeStore
) -> None:
    store.summaries["prod"] = STALLED
    found = status(config_file)
    assert [each["name"] for each in found["alerts"]] == [NAME], "by its own look"
    assert found["alerts"][0]["known"]
    waits = [each["name"] for each in found["pending_alerts"]]
    assert waits == ["KraftgateBrokerUnfencedEarly"]
    config = load_config(config_file)
    AlertFiles(config).keep(stalled().alerts)
    store.summaries["prod"] = cluster(Phase.HYBRID)
    assert status(config_file)["alerts"] == []


def test_without_a_run_that_runs_what_stood_is_said_not_to_be_known(
    config_file: Path, store: FakeStore
) -> None:
    config = load_config(config_file)
    AlertFiles(config).keep(stalled().alerts)
    store.summaries["prod"] = cluster(Phase.HYBRID)
    write_status(config.state_dir, "prod", replace(FRESH, observed_ms=NOW_MS - 60_000))
    (alert,) = status(config_file)["alerts"]
    assert (alert["name"], alert["known"]) == (NAME, False)


def test_run_judges_its_looks(config_file: Path, store: FakeStore) -> None:
    store.summaries["prod"] = STALLED
    with Stop() as stop:
        query = FakeFollowing(lambda poll: stop.set() if poll == 2 else None)
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    told = alert_file.read(
        load_config(config_file).state_dir / "clusters/prod" / alert_file.ALERTS_FILE
    )
    assert [each.alert.name for each in told.active()] == [NAME]
