"""Before the controllers exist, `kraftgate status` judges by ZooKeeper."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migration.image.summary import ClusterSummary, Phase
from migration.observed.source_status import SourceStatus
from orchestrator.cli.program import main
from orchestrator.errors import ExitCode
from tests.migration.assessment.conditions.views import ZOOKEEPER_TIME, migration, zookeeper
from tests.scenes.night import NOW_MS
from tests.scenes.recorded import ANSWERS, CONFIGURED, one
from tests.scenes.state_directory import write

REFUSED = SourceStatus(observed_ms=NOW_MS, waiting="c1:9093: refused")
OLD = replace(ANSWERS, last_reply_ms=NOW_MS - 60_000, waiting="zk1:2181: refused")


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)


def status(
    folder: Path,
    summary: ClusterSummary = ZOOKEEPER_TIME,
    *,
    controllers: bool,
    **statuses: SourceStatus,
) -> Result:
    keys = ("controllers",) if controllers else ()
    scene = one(
        summary,
        configured={key: CONFIGURED[key] for key in (*keys, "zookeeper", "brokers")},
        statuses={"source": REFUSED, "zookeeper": ANSWERS, "log_dirs": ANSWERS, **statuses},
    )
    written = write(scene, folder)
    written.move(NOW_MS)
    return CliRunner().invoke(main, ["status", "--config", str(written.config)])


@pytest.mark.parametrize("controllers", [True, False])
def test_current_data_of_zookeeper_is_enough(tmp_path: Path, *, controllers: bool) -> None:
    said = status(tmp_path, controllers=controllers)
    assert said.exit_code == ExitCode.DONE, said.output
    assert said.stderr == ""


@pytest.mark.parametrize("controllers", [True, False])
def test_stale_data_of_zookeeper_is_not(tmp_path: Path, *, controllers: bool) -> None:
    said = status(tmp_path, controllers=controllers, zookeeper=OLD)
    assert said.exit_code == ExitCode.NO_DATA
    assert said.stderr.endswith("zookeeper is not current: zk1:2181: refused\n")


@pytest.mark.parametrize("controllers", [True, False])
def test_the_disks_must_be_current_too(tmp_path: Path, *, controllers: bool) -> None:
    said = status(tmp_path, controllers=controllers, log_dirs=replace(OLD, waiting="b1: refused"))
    assert said.exit_code == ExitCode.NO_DATA
    assert said.stderr == "kraftgate: prod: log_dirs is not current: b1: refused\n"


def test_controllers_that_zookeeper_shows_must_answer(tmp_path: Path) -> None:
    seen = zookeeper(kraft=False, migration=migration())
    said = status(tmp_path, replace(ZOOKEEPER_TIME, zookeeper=seen), controllers=True)
    assert said.exit_code == ExitCode.NO_DATA
    answer = "a controller to answer: none has since kraftgate started (c1:9093: refused)"
    assert said.stderr == f"kraftgate: prod: no data, waiting for {answer}\n"


@pytest.mark.parametrize(
    "log", [replace(REFUSED, error="not authorized"), SourceStatus(observed_ms=0)]
)
def test_a_metadata_log_that_cannot_be_followed_is_not_absent(
    tmp_path: Path, log: SourceStatus
) -> None:
    assert status(tmp_path, controllers=True, source=log).exit_code == ExitCode.NO_DATA


@pytest.mark.parametrize("controllers", [True, False])
def test_a_later_phase_needs_the_metadata_log(tmp_path: Path, *, controllers: bool) -> None:
    later = replace(ZOOKEEPER_TIME, phase=Phase.HYBRID)
    said = status(tmp_path, later, controllers=controllers)
    assert said.exit_code == ExitCode.NO_DATA
    assert ": no data" in said.stderr
