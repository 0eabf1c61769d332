"""A report over records of any date: controllers' clocks are not ours."""

from dataclasses import replace
from pathlib import Path

import pytest

from migration.metadata.replica_state import ReplicaState
from migration.values.timestamps import EARLIEST_MS, LATEST_MS
from orchestrator.errors import ExitCode
from tests.orchestrator.views.report.making import Made, T
from tests.orchestrator.views.report.night import night
from tests.orchestrator.views.report.reporting import run

_AFTER_9999 = 253_402_300_800_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "at_ms"),
    [
        *(("json", each) for each in (_AFTER_9999, LATEST_MS, EARLIEST_MS, 2**63 - 1, -(2**63))),
        *(("html", each) for each in (_AFTER_9999, EARLIEST_MS)),
        ("markdown", _AFTER_9999),
    ],
)
def test_a_record_of_any_date_is_reported(tmp_path: Path, format_: str, at_ms: int) -> None:
    made = Made(tmp_path)
    assert made.summary is not None
    brokers = tuple(replace(each, registered_ms=at_ms) for each in made.summary.brokers)
    made.summary = replace(made.summary, observed_ms=at_ms, brokers=brokers)
    made.tell("phase_changed", 0, offset=1, was="zookeeper", now="pre-migration")
    made.tell("controller_elected", at_ms - T, offset=2, seen=5, controller=3000)
    made.tell("broker_registered", at_ms - T, 1, offset=3, seen=6, epoch=3)
    made.moves = [
        (4, 0, 1, None, ReplicaState.MIGRATING),
        (5, at_ms - T, 1, ReplicaState.MIGRATING, ReplicaState.ASSIGNED),
    ]
    made.store()
    done = run(made, "--format", format_)
    assert (done.exit_code, done.stderr) == (ExitCode.DONE, ""), done.exception


def test_a_night_with_one_record_of_year_10000_is_reported(tmp_path: Path) -> None:
    made = night(tmp_path)
    made.tell("controller_elected", _AFTER_9999 - T, offset=9_999, controller=3000)
    made.store()
    done = run(made, "--format", "json")
    assert done.exit_code == ExitCode.DONE, done.exception
    assert "+010000-01-01T00:00:00.000Z" in done.stdout
