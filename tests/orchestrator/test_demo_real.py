"""`make demo` itself, on a real cluster: to its end, and interrupted on the way."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.spark]

COMMAND = (sys.executable, "-m", "orchestrator.demo")
MARK = "KRAFTGATE_DEMO_TEST"


@pytest.fixture
def marked() -> Mapping[str, str]:
    """An environment that every process of the demo inherits, whoever its parent becomes."""
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


def test_the_demo_comes_to_its_end_and_leaves_nothing(
    tmp_path: Path, marked: Mapping[str, str]
) -> None:
    picture = tmp_path / "live-view.svg"
    done = subprocess.run(
        [*COMMAND, "--picture", str(picture)],
        env=marked,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    closing = done.stdout[done.stdout.index("demo: stopping the cluster") :]
    assert "phase finalized" in closing
    assert "unfenced early" in closing
    assert "GiB in all processes" in closing
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert "https://" not in drawn
    assert _alive(marked) == []


def test_an_interrupted_demo_stops_everything(tmp_path: Path, marked: Mapping[str, str]) -> None:
    demo = subprocess.Popen(
        [*COMMAND, "--home", str(tmp_path / "home")],
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
    assert "interrupted; everything is stopped" in rest
    assert _alive(marked) == []
