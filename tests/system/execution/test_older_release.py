"""A whole migration on Kafka 3.8.1, by the bundled runbook, against its own kafka-dump-log.

All other tests run 3.9.1. Two brokers with two directories each and a controller; the lab's hooks
perform the steps.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from migration.metadata.events import Source
from orchestrator.audit.execution.state import ExecutionState, Stage
from orchestrator.lab import Lab, LabSpec
from tests.oracle.compare import differences
from tests.oracle.projection import project_texts
from tests.support import older
from tests.support.older import OlderLab
from tests.system.execution.window import Window

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=2)]

PARTITIONS: Final = 12
FINALIZE: Final = "finalize[3000]"
_WALK_S: Final = 900.0


@pytest.fixture
def lab() -> Iterator[Lab]:
    with OlderLab(LabSpec(brokers=2, directories=2, controllers=1)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.create_topic("orders", PARTITIONS, 2)
        yield lab


def test_a_migration_is_followed_to_its_end_on_an_older_release(lab: Lab, tmp_path: Path) -> None:
    with Window(tmp_path, lab, timeout="5m") as window:
        window.start()
        window.wait_walk(_waits_for_approval, FINALIZE, _WALK_S)
        window.approve(FINALIZE)
        window.wait_walk(lambda walk: walk.passed("finalized"), "the end", _WALK_S)
        told = window.status()
        assert window.interrupt() == 0
        assert not window.leftovers()
        assert (told["phase"], told["metadata_version"], told["limits"]) == ("finalized", 20, [])
        assert _as_dumped(told, lab) == []
        assert "warn: broker-versions" in _preflight(window)
    assert {_version(lab, name) for name in lab.names if name != "zookeeper"} == {older.VERSION}


def _waits_for_approval(walk: ExecutionState) -> bool:
    return walk.checkpoint(FINALIZE).stage is Stage.ENTERED


def _as_dumped(told: dict[str, Any], lab: Lab) -> list[str]:
    """Return the differences; Kafka writes no-op records after the status was printed."""
    segments = sorted(lab.metadata_log_dir("controller-3000").glob("*.log"))
    oracle = project_texts(map(lab.dump_log, segments))
    offset = oracle.pop("metadata_offset")
    assert told["metadata_offset"] <= offset
    logged = [each for each in told["events"] if each["source"] == Source.KRAFT_METADATA]
    return differences(told | {"events": logged}, oracle)


def _preflight(window: Window) -> str:
    """Return the last reason of the condition."""
    judged = [each for each in window.kinds("judged") if each["checkpoint"] == "preflight"]
    (reason,) = (
        str(each["reason"])
        for each in judged[-1]["findings"]
        if each["condition"] == "preflight_passed"
    )
    return reason


def _version(lab: Lab, name: str) -> str:
    (version,) = set(re.findall(r"Kafka version: (\S+)", lab.log_file(name).read_text("utf-8")))
    return str(version)
