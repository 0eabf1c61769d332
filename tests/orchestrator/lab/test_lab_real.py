"""The lab against real Kafka: nothing is left behind.

A whole migration by the lab is in tests/migration/assessment/checks/test_real_phases.py, a failed
directory that is noticed and healed in tests/system/test_hazards_of_directories.py.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from click.testing import CliRunner, Result

from orchestrator.cli.lab import lab as commands
from orchestrator.lab import Lab, LabSpec
from orchestrator.lab.errors import LabError, NoSuchIdError, WrongStateError
from tests.orchestrator.lab.conftest import wait_dead

pytestmark = [pytest.mark.lab, pytest.mark.long(minutes=1)]

_KRAFTGATE_LAB = [sys.executable, "-c", "from orchestrator.cli.lab import lab; lab()"]


def test_a_lab_without_zookeeper_says_so(tmp_path: Path) -> None:
    with (
        Lab(LabSpec(), tmp_path / "home") as lab,
        pytest.raises(WrongStateError, match="no ZooKeeper"),
    ):
        lab.wait_copied()


def test_a_topic_is_not_assigned_to_a_broker_that_does_not_exist(tmp_path: Path) -> None:
    """Kafka creates it, and can then not delete it."""
    with (
        Lab(LabSpec(brokers=2), tmp_path / "home") as lab,
        pytest.raises(NoSuchIdError, match="no broker 99"),
    ):
        lab.create_topic("x", assignments=[[1, 99]])


def test_a_home_serves_one_lab(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(LabError, match="not empty"):
        Lab(LabSpec(), tmp_path)


@pytest.mark.parametrize(
    ("ending", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)]
)
def test_no_process_outlives_the_command(tmp_path: Path, ending: signal.Signals, code: int) -> None:
    home = tmp_path / "home"
    command = [*_KRAFTGATE_LAB, "start", "--home", str(home), "--brokers", "1", "--topics", "1"]
    with (tmp_path / "start.log").open("w") as log:
        environment = os.environ | {"TERM": "dumb"}
        holder = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        wait_ready(holder, tmp_path / "start.log")
        assert yaml.safe_load((home / "kraftgate.yaml").read_text())["cluster"]["name"] == "lab"
        assert run(home, "freeze", "broker-1").exit_code == 0
        status = json.loads(run(home, "status", "--json").stdout)
        states = {process["name"]: process["state"] for process in status["processes"]}
        assert states == {
            "zookeeper": "running",
            "controller-3000": "not started",
            "broker-1": "frozen",
        }
        members = [psutil.Process(p["pid"]) for p in status["processes"] if p["pid"]]
        assert len(members) == 2
    finally:
        holder.send_signal(ending)
        assert holder.wait(180) == code
    wait_dead(members)
    assert run(home, "status").exit_code == 1


def run(home: Path, *arguments: str) -> Result:
    """Send a command to the lab, which is another process."""
    return CliRunner().invoke(commands, [*arguments, "--home", str(home)])


def wait_ready(holder: "subprocess.Popen[bytes]", log: Path) -> None:
    """The last of the lines that say what to do next, each a line of its own."""
    deadline = time.monotonic() + 180
    while "Ctrl-C stops every process." not in log.read_text().splitlines():
        assert holder.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
