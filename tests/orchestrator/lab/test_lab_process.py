"""Processes: frozen, thawed, killed, and never left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from orchestrator.lab.errors import BindRefusedError, ProcessDiedError, WrongStateError
from orchestrator.lab.machine.process import Process
from tests.orchestrator.lab.conftest import wait_dead

_HOLDER = """
import signal, sys, time
from pathlib import Path
from orchestrator.lab.machine.process import Process
first = Process("one", ["sleep", "600"], Path(sys.argv[1]))
second = Process("two", ["sleep", "600"], Path(sys.argv[1]))
second.freeze()
# A shell that started the tests in the background lets them, and us, inherit an ignored Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
print(first.pid, second.pid, flush=True)
time.sleep(600)
"""


def sleeper(tmp_path: Path) -> Process:
    return Process("one", ["sleep", "600"], tmp_path / "one.log")


def state(process: Process, wanted: str) -> bool:
    deadline = time.monotonic() + 60
    while psutil.Process(process.pid).status() != wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    return psutil.Process(process.pid).status() == wanted


def test_freeze_and_thaw(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    process.freeze()
    assert state(process, psutil.STATUS_STOPPED)
    assert process.alive
    process.thaw()
    assert state(process, psutil.STATUS_SLEEPING)
    process.kill()
    assert not process.alive


def test_a_frozen_process_refuses_an_orderly_stop_and_dies_by_kill(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    process.freeze()
    with pytest.raises(WrongStateError, match="frozen"):
        process.terminate()
    process.kill()
    assert not process.alive


def test_its_own_session_keeps_the_terminals_interrupt_away(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    assert os.getsid(process.pid) == process.pid
    process.kill()


def test_only_what_was_logged_since_the_start_counts(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("ready long ago\n")
    process = Process("one", ["sh", "-c", "echo now; exec sleep 600"], log)
    deadline = time.monotonic() + 60
    while not process.logged() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.find(re.compile("ready")) is None
    assert process.find(re.compile("now"))
    process.kill()


def test_a_death_is_told_with_the_last_lines(tmp_path: Path) -> None:
    process = Process("one", ["sh", "-c", "echo out of luck; exit 3"], tmp_path / "one.log")
    assert process.ended_within(60)
    with pytest.raises(ProcessDiedError, match=r"(?s)one ended with 3.*out of luck"):
        process.find(re.compile("ready"))


def test_what_it_said_before_its_death_is_found(tmp_path: Path) -> None:
    process = Process("one", ["sh", "-c", "echo ready"], tmp_path / "one.log")
    assert process.ended_within(60)
    assert process.find(re.compile("ready"))


def test_a_taken_port_is_an_error_of_its_own(tmp_path: Path) -> None:
    script = "echo java.net.BindException: Address already in use; exit 1"
    process = Process("one", ["sh", "-c", script], tmp_path / "one.log")
    assert process.ended_within(60)
    with pytest.raises(BindRefusedError):
        process.must_live()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_they_die_with_their_lab_however_it_ends(tmp_path: Path, ending: signal.Signals) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert holder.stdout
    children = [psutil.Process(int(pid)) for pid in holder.stdout.readline().split()]
    assert [child.is_running() for child in children] == [True, True]
    holder.send_signal(ending)
    holder.wait(180)
    holder.stdout.close()
    wait_dead(children)
