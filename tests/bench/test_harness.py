"""Parts of the benchmark, small and short: that they measure, never how much.

The other parts take minutes also when they are small: `python -m tests.bench --quick` tries all.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.errors import ErrorCode

from tests.bench import stub_broker
from tests.bench.latency import Load
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, table
from tests.bench.stub_broker import StubBroker

_SHORT = ("--quick", "--runs", "1", "--seconds", "2", "--minutes", "0.1")
_PARTS = {"b", "c", "h", "j", "k"}

pytestmark = [pytest.mark.slow, pytest.mark.long(minutes=3.5)]


@pytest.mark.lab
@pytest.mark.spark
def test_the_parts_measure(tmp_path: Path) -> None:
    # Its own process: a part waits for every child of its process, and a worker of pytest has more.
    command = [sys.executable, "-m", "tests.bench", *_SHORT, "--only", ",".join(_PARTS)]
    said = subprocess.run(
        [*command, "--results", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr
    (file,) = tmp_path.glob("*.json")
    figures = json.loads(file.read_text())["figures"]
    assert {each["part"] for each in figures} == _PARTS
    assert all(each["runs"] for each in figures)
    assert {each.name[0] for each in file.with_suffix("").glob("?-*.svg")} == _PARTS


class _SlowBroker:
    """Takes longer than a load allows, as the controller of a busy machine does."""

    def assign(self, partitions: range, directory: int) -> None:
        del partitions, directory
        time.sleep(0.25)


def test_only_a_rate_that_is_judged_must_be_reached() -> None:
    def load(*, may_be_late: bool) -> Load:
        return Load(cast("StubBroker", _SlowBroker()), 100, 1000, may_be_late=may_be_late)

    with pytest.raises(MeasuringFailed, match="the rate was not reached"):
        load(may_be_late=False).run(0.1)
    assert load(may_be_late=True).run(0.1) == 10


class _Controller:
    """Answers as a controller; a real one gives a heartbeat up only when it is busy for long."""

    def __init__(self, *heartbeats: ErrorCode) -> None:
        self._heartbeats = iter(heartbeats)
        self.idle = threading.Event()

    def ask(self, request: object, reply: type) -> SimpleNamespace:
        del request
        if reply is not BrokerHeartbeatResponse:
            code = ErrorCode.none
            partition = SimpleNamespace(partition_index=0, error_code=code)
            topic = SimpleNamespace(error_code=code, topic_id=None, partitions=[partition])
            directory = SimpleNamespace(topics=[topic])
            return SimpleNamespace(
                error_code=code, broker_epoch=7, topics=[topic], directories=[directory]
            )
        heartbeat = next(self._heartbeats, None)
        if heartbeat is None:
            self.idle.set()
            heartbeat = ErrorCode.none
        return SimpleNamespace(error_code=heartbeat, is_fenced=heartbeat is not ErrorCode.none)

    def close(self) -> None:
        pass


def _stub(monkeypatch: pytest.MonkeyPatch, controller: _Controller) -> StubBroker:
    monkeypatch.setattr(stub_broker, "_Connection", lambda _: controller)
    monkeypatch.setattr(stub_broker, "_HEARTBEAT_S", 0.001)
    return StubBroker("controller:9093", "cluster", lambda: 0)


def test_a_heartbeat_that_timed_out_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    late, good = ErrorCode.request_timed_out, ErrorCode.none
    controller = _Controller(late, good, late, good)
    with _stub(monkeypatch, controller) as broker:
        broker.create_topic(1)
        assert controller.idle.wait(60)
        broker.assign([0], 0)


def test_a_refused_heartbeat_ends_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = _Controller(ErrorCode.none, ErrorCode.stale_broker_epoch)
    with _stub(monkeypatch, controller) as broker:
        broker.create_topic(1)
        broker.heartbeats.join(60)
        with pytest.raises(MeasuringFailed, match=r"heartbeats ended.*stale_broker_epoch"):
            broker.assign([0], 0)


def test_a_figure_is_judged_by_its_bound_and_drawn(tmp_path: Path) -> None:
    from tests.bench.plots import draw  # and matplotlib: every worker would wait

    figures = [
        Figure(part="x", name="Over, by half", unit="s", runs=[3.0, 2.9], bound=2.0),
        Figure(part="x", name="ratio", unit="s", runs=[3.0], compared_with=[2.0], bound=2.0),
        *(
            Figure(part="x", name=f"of {at}", unit="s", runs=[at], series="all", at=at, at_unit="n")
            for at in (1.0, 2.0)
        ),
    ]
    assert [each.within for each in figures] == [False, True, None, None]
    assert "OVER" in table(figures)
    draw(figures, tmp_path)
    drawn = {each.name for each in tmp_path.iterdir()}
    assert drawn == {"x-over-by-half.svg", "x-ratio.svg", "x-all.svg"}
