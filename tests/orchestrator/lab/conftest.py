"""Stand-ins and places that the lab's tests share."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from orchestrator.lab.cluster.layout import Layout
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.machine.ports import Ports


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A layout of two brokers with two directories each and three controllers."""
    ports = Ports()
    made = Layout(LabSpec(brokers=2, directories=2, controllers=3), tmp_path, ports)
    ports.close()
    return made


@pytest.fixture
def fake_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script of a given name first on the PATH."""
    programs = tmp_path / "programs"

    def make(name: str, script: str) -> Path:
        programs.mkdir(exist_ok=True)
        program = programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        return program

    return make


def wait_dead(processes: list[psutil.Process]) -> None:
    """Wait until no process runs; one whose parent died stays a zombie if PID 1 does not reap."""
    deadline = time.monotonic() + 120
    while alive := [each for each in processes if _runs(each)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.02)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
