"""A real broker whose destination is too small for what is moved there, or fills up meanwhile.

KIP-113, "Handle failure that happens ...": a log directory that fails during a move.
"""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from migration.moves.plan_file import Wanted
from migration.moves.planner import obstacles, requested
from migration.observed.probed import Broker, TopicPartition, Unknown
from orchestrator.audit import AuditLog
from orchestrator.errors import MoveError
from orchestrator.execution.moves import MoveRun, Plan, Requests, orchestrating
from orchestrator.lab import Lab, LabSpec
from streams.net.endpoint import Endpoint
from streams.net.security import Security
from streams.probe.brokers import ask_brokers
from tests.support.lab_steps import watermarks
from tests.support.polling import until
from tests.support.small_volume import mounted

pytestmark = pytest.mark.lab

BIG: Final = TopicPartition("big", 0)
VOLUME_MB: Final = 24
RECORDS: Final = 4000
RECORD_BYTES: Final = 10_000


@dataclass
class Small:
    """A lab whose broker has its second directory on a small volume."""

    lab: Lab
    log: AuditLog
    folder: Path

    @property
    def broker(self) -> Broker:
        found: list[Broker] = []

        def is_named() -> bool:
            # One that has just started names no broker, not even itself.
            found[:] = ask_brokers(
                Endpoint.parse_list(self.lab.broker_bootstrap), Security()
            ).brokers
            return bool(found) and not isinstance(found[0].log_dirs, Unknown)

        until(is_named)
        (broker,) = found
        return broker

    def place(self, at: TopicPartition) -> str:
        """Return the only directory with the replica; there is no copy of it."""
        log_dirs = self.broker.log_dirs
        assert not isinstance(log_dirs, Unknown)
        assert not any(each.futures for each in log_dirs)
        (path,) = (each.path for each in log_dirs if at in each.replicas)
        return path

    def is_in(self, path: str) -> bool:
        """Return whether the replica is in a directory; a copy is not."""
        log_dirs = self.broker.log_dirs
        if isinstance(log_dirs, Unknown):
            return False
        return any(each.path == path and BIG in each.replicas for each in log_dirs)

    @contextmanager
    def run(self, target: str) -> Iterator[MoveRun]:
        config: Any = SimpleNamespace(state_dir=self.folder, option=(), many=False)
        entry: Any = SimpleNamespace(name="lab", zookeeper=None)
        plan = Plan(
            file=Path("plan.json"),
            sha256="0" * 64,
            targets={1: {BIG: target}},
            throttles={1: 10**9},
        )
        requests = Requests({1: self.broker}, Security())
        with orchestrating(config, entry, self.log) as held:
            yield MoveRun(plan, held, requests, threading.Event().wait, print)


@pytest.fixture(params=["kraft", "zookeeper"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Small]:
    with (
        Lab(LabSpec(brokers=1, directories=2)) as lab,
        closing(AuditLog.open(tmp_path / "audit.db")) as log,
        mounted(lab.directory(1, 1), VOLUME_MB),
    ):
        if request.param == "kraft":
            lab.start_kraft()
        else:
            lab.start_zookeeper()
            lab.start_brokers()
        lab.create_topic(BIG.topic, 1, 1)
        small = Small(lab, log, tmp_path)
        both = [str(lab.directory(1, index)) for index in (0, 1)]
        until(lambda: any(map(small.is_in, both)), "the broker creates the log")
        yield small
        lab.stop(1)


def test_a_destination_that_is_full(small: Small) -> None:
    source, target = str(small.lab.directory(1, 0)), str(small.lab.directory(1, 1))
    if small.place(BIG) == target:
        small.lab.move_replicas(1, {(BIG.topic, BIG.number): 0})
        until(lambda: small.is_in(source))
    small.lab.produce(BIG.topic, BIG.number, RECORDS, size_bytes=RECORD_BYTES)
    wanted = Wanted(1, BIG, (1,), (target,))
    moves, unknown = requested([wanted], {1: small.broker})
    assert unknown == ()
    (obstacle,) = obstacles(moves, {1: small.broker})
    assert f"{target} would be" in obstacle
    assert "bytes too small" in obstacle
    # It had the room when the move was planned.
    with small.run(target) as run, pytest.raises(MoveError) as caught:
        run.apply(1, lambda *_: None, lambda *_: None)
    assert "0 of 1 replicas are in their target" in str(caught.value)
    assert f"it does not move: {target} is not online" in str(caught.value)
    assert small.place(BIG) == source
    with small.run(target) as run, pytest.raises(MoveError, match="A copy in it resumes"):
        run.cancel()
    small.lab.produce(BIG.topic, BIG.number, 1)
    assert watermarks(small.lab, BIG.topic, BIG.number) == (0, RECORDS + 1)
    small.lab.stop(1)
    subprocess.run(["mount", "-o", "remount,size=200m", target], check=True)
    small.lab.start(1)
    until(lambda: small.is_in(target), "the copy resumes")
    assert watermarks(small.lab, BIG.topic, BIG.number) == (0, RECORDS + 1)
