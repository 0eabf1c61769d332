"""The alerts at the looks of `kraftgate run`, kept for `status` and for the next run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migration.assessment.alerts import NOTHING_STANDS
from migration.image.summary import Phase
from orchestrator.alerts import kept
from orchestrator.alerts.watch import Watch
from orchestrator.cli import main
from orchestrator.commands.run import follow_and_show
from orchestrator.config import Config, load_config
from orchestrator.metrics.board import Board, Look
from orchestrator.view.live import Stop
from tests.orchestrator.fakes import FakeFollowing, FakeStore, write_status
from tests.orchestrator.night import FRESH, HYBRID, NOW_MS, cluster, held
from tests.orchestrator.test_run import gate

STALLED = cluster(Phase.HYBRID, held(3, progress=None, registered_ms=NOW_MS - 400_000))
NAME = "KraftgateAssignmentStalled"


def looks(config: Config) -> Callable[[int], Look]:
    """Looks at a stalled broker, so many ms after NOW_MS."""
    board = Board(config)

    def look(at_ms: int) -> Look:
        status = replace(FRESH, observed_ms=NOW_MS + at_ms, last_reply_ms=NOW_MS + at_ms)
        one = replace(HYBRID, summary=STALLED, status=status)
        return board.put([one], {}, NOW_MS + at_ms)

    return look


def status(config_file: Path) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["status", "--config", str(config_file), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_judges_once_a_second(config_file: Path) -> None:
    config = load_config(config_file)
    watch, look = Watch(config), looks(config)
    assert watch.look(look(0))
    assert not watch.look(look(999))
    assert watch.look(look(1000))
    (stands,) = watch.last["prod"].standing()
    assert stands.alert.name == NAME
    assert watch.look(look(-5000)), "a clock that was set back stops nothing"


def test_the_next_run_begins_with_what_stood(config_file: Path) -> None:
    config = load_config(config_file)
    first = Watch(config)
    assert first.last == {"prod": NOTHING_STANDS}
    first.look(looks(config)(0))
    second = Watch(config)
    assert second.last == first.last


def test_what_cannot_be_kept_is_said_and_stops_nothing(
    config_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config(config_file)
    watch = Watch(config)
    config.state_dir.write_text("this is no directory")
    watch.look(looks(config)(0))
    assert watch.last["prod"].standing()
    assert "the alerts of prod cannot be kept" in caplog.text


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
    Watch(config).look(looks(config)(0))
    store.summaries["prod"] = cluster(Phase.HYBRID)
    assert status(config_file)["alerts"] == []


def test_without_a_run_that_runs_what_stood_is_said_not_to_be_known(
    config_file: Path, store: FakeStore
) -> None:
    config = load_config(config_file)
    Watch(config).look(looks(config)(0))
    store.summaries["prod"] = cluster(Phase.HYBRID)
    write_status(config.state_dir, "prod", replace(FRESH, observed_ms=NOW_MS - 60_000))
    (alert,) = status(config_file)["alerts"]
    assert (alert["name"], alert["known"]) == (NAME, False)


def test_run_judges_its_looks(config_file: Path, store: FakeStore) -> None:
    store.summaries["prod"] = STALLED
    with Stop() as stop:
        query = FakeFollowing(lambda poll: stop.set() if poll == 2 else None)
        follow_and_show(load_config(config_file), gate(None), stop, query.follow)
    told = kept.read(load_config(config_file).state_dir / "clusters/prod" / kept.ALERTS_FILE)
    assert [each.alert.name for each in told.standing()] == [NAME]
