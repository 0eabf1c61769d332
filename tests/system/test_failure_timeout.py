"""A real broker in KRaft mode whose controller does not hear of its failed directory."""

from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from migration.assessment.currency import CURRENT
from migration.assessment.hazards import HazardKind, hazards
from migration.observed.facts import DisksSeen
from migration.observed.log_dirs import FAILURE_TIMEOUT, STORAGE_ERROR, DisksImage, observe
from orchestrator.lab import Lab, LabSpec
from streams.log_dirs.memory import Memory
from streams.log_dirs.poll import LogDirsConfig
from streams.log_dirs.poller import LogDirsPoller
from streams.net.endpoint import Endpoint
from streams.net.listener import Listener
from tests.streams.log_dirs.journal import Facts, now_ms
from tests.support.pipeline import Run

pytestmark = pytest.mark.lab

TIMEOUT_MS = 8000
SPEC = LabSpec(
    brokers=1,
    directories=2,
    controllers=1,
    broker_properties={FAILURE_TIMEOUT: str(TIMEOUT_MS)},
)


def test_it_shuts_down_after_the_time_that_it_describes(tmp_path: Path) -> None:
    """KIP-858, "Handling log directory failures": log.dir.failure.timeout.ms."""
    facts = Facts()
    with Lab(SPEC) as lab, closing(Memory(tmp_path / "disks.db")) as memory:
        lab.start_kraft()
        lab.create_topic("spread", 4, 1)
        config = LogDirsConfig(listener=Listener(Endpoint.parse_list(lab.broker_bootstrap)))
        controller = f"controller-{lab.active_controller()}"
        with LogDirsPoller(config, memory, facts.append, now_ms):
            facts.wait(DisksSeen, lambda _: True)
            lab.freeze(controller)
            lab.fail_directory(1, 1)
            seen = facts.wait(DisksSeen, lambda each: STORAGE_ERROR in _errors(each))
        noticed = lab.wait_for_log("broker-1", rf"{AT} WARN .*Stopping serving replicas in dir")
        ended = lab.wait_for_log("broker-1", rf"{AT} ERROR .*couldn't communicate offline log dir")
        log = Run().follow(lab.metadata_log_dir(controller), 1 << 20)
    assert _ms(ended[1]) - _ms(noticed[1]) >= TIMEOUT_MS
    disks, _ = observe(DisksImage(), seen)
    later_ms = seen.seen_ms + TIMEOUT_MS - 1
    found = hazards(replace(log.summary, disks=disks), later_ms, CURRENT)
    (announced,) = [each for each in found if each.kind is HazardKind.BROKER_SHUTS_DOWN]
    assert announced.deadline_ms == seen.seen_ms + TIMEOUT_MS


AT = r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]"


def _errors(disks: DisksSeen) -> set[int]:
    return {each.error for each in disks.log_dirs}


def _ms(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").timestamp() * 1000  # noqa: DTZ007
