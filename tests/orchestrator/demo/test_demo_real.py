"""`make demo` itself, on a real cluster: to its end, and interrupted on the way."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from orchestrator.lab.machine.ports import LOOPBACK, Ports
from tests.orchestrator.notify.rules import RULES
from tests.support.prometheus import ask, running

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.long(minutes=2)]

COMMAND = (sys.executable, "-m", "orchestrator.demo")
SMALL = """import sys
from orchestrator import demo
from orchestrator.lab import LabSpec

demo.SPEC = LabSpec(brokers=1, directories=1, controllers=1)
demo.TOPICS = (("payments", 1, 1),)
sys.exit(demo.guarded(demo.main))
"""
"""The demo of one broker: how many there are proves nothing about its end."""
MARK = "KRAFTGATE_DEMO_TEST"


@pytest.fixture
def marked() -> Mapping[str, str]:
    """An environment that every process of the demo inherits, also if its parent changes."""
    return os.environ | {MARK: uuid.uuid4().hex}


def _alive(marked: Mapping[str, str]) -> list[str]:
    wanted = f"{MARK}={marked[MARK]}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " ")[:200])
        except OSError:
            continue
    return found


@pytest.fixture
def metrics() -> Iterator[str]:
    """A port that is held for what is scraped."""
    ports = Ports()
    yield f"{LOOPBACK}:{ports.take()}"
    ports.close()


@pytest.mark.prometheus
def test_the_demo_comes_to_its_end_and_leaves_nothing(
    tmp_path: Path, marked: Mapping[str, str], metrics: str
) -> None:
    """A real Prometheus watches it with the rules as they are shipped, and wakes nobody."""
    picture, home = tmp_path / "live-view.svg", tmp_path / "home"
    rules = RULES.read_text("utf-8")
    with running(tmp_path / "prometheus", kraftgate=metrics, rules=rules) as prometheus:
        done = subprocess.run(
            [*COMMAND, "--home", str(home), "--picture", str(picture), "--metrics", metrics],
            env=marked,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        _nobody_was_woken(prometheus)
    closing = done.stdout[done.stdout.index("demo: stopping the cluster") :]
    assert "phase finalized" in closing
    assert "unfenced early" in closing
    assert "GiB in all processes" in closing
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert "https://" not in drawn
    assert _alive(marked) == []


def _nobody_was_woken(prometheus: str) -> None:
    fired = ask(prometheus, 'count_over_time(ALERTS{alertstate="firing", severity!="info"}[1h])')
    assert fired == {}
    phases = ask(prometheus, "max by (phase) (max_over_time(kraftgate_phase[1h])) == 1")
    seen = {dict(labels)["phase"] for labels in phases}
    assert seen >= {"pre-migration", "hybrid", "dual-write", "finalized"}, "it saw what went on"
    assert ask(prometheus, "kraftgate_phase") == {}, "and is not scraped any more"
    last = ask(prometheus, 'last_over_time(kraftgate_phase{phase="finalized"}[1h])')
    assert set(last.values()) == {1.0}, "the end was waited for to be scraped"


def test_an_interrupted_demo_stops_everything(tmp_path: Path, marked: Mapping[str, str]) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-c", SMALL, "--home", str(tmp_path / "home")],
        env=marked,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "starting the controller" in line:
                os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to the child as well
                break
        rest = demo.stdout.read()
        assert demo.wait(120) == 130
    assert "interrupted; all processes are stopped" in rest
    assert _alive(marked) == []
