"""The alerts at the looks of `kraftgate run`, kept for `status` and for the next run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migration.assessment.alerts import NO_ALERTS
from migration.image.summary import Phase
from orchestrator.cli.program import main
from orchestrator.cli.run import follow_and_show
from orchestrator.config.load import Config, load_config
from orchestrator.run import alert_file
from orchestrator.run.alert_file import AlertFiles
from orchestrator.run.assessed import Assessor, Tick
from orchestrator.run.reader import Reader
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


def assessor(config: Config) -> Assessor:
    return Assessor(config, Reader(config, newest=1))


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
