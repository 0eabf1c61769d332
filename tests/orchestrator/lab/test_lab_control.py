"""The control socket: results, progress, errors with their parts, and no lab at all."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.lab import lab
from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.control.channel import ControlServer, Message, Progress, ask
from orchestrator.lab.control.operations import OPERATIONS, Operation, Operations
from orchestrator.lab.errors import LabError, NoSuchIdError, ProcessDiedError, WrongStateError
from orchestrator.lab.machine.home import SOCKET, claim_home

_NOBODY = 65534
_LAB = object.__new__(Lab)  # nothing of it is touched by the stand-in operations


def handle(command: str, arguments: Message, progress: Progress) -> Message:
    if command == "fail":
        raise ProcessDiedError("it died", where="its log", fix="Look.")
    if command == "kill":
        raise NoSuchIdError("the lab has no process x", where="lab", fix="It has: broker-1.")
    if command == "bug":
        raise NotADirectoryError(20, "Not a directory", "/log0")
    progress("one")
    progress("two")
    return {"command": command, **arguments}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / ("a-long-home-" * 12)
    home.mkdir()
    server = ControlServer(home, handle)
    yield home
    server.close()
    assert not (home / SOCKET).exists()


def test_progress_comes_before_the_result(home: Path) -> None:
    lines: list[str] = []
    assert ask(home, "echo", {"name": "x"}, lines.append) == {"command": "echo", "name": "x"}
    assert lines == ["one", "two"]


def test_an_error_arrives_with_its_three_parts(home: Path) -> None:
    with pytest.raises(LabError) as raised:
        ask(home, "fail", {}, print)
    assert (raised.value.what, raised.value.where) == ("it died", "its log")
    assert raised.value.fix == "Look."


def test_any_other_error_arrives_too(home: Path) -> None:
    with pytest.raises(LabError, match=r"bug: NotADirectoryError\(20"):
        ask(home, "bug", {}, print)


def test_an_unknown_id_is_a_usage_error(home: Path) -> None:
    shown = CliRunner().invoke(lab, ["kill", "x", "--home", str(home)])
    assert shown.exit_code == 2
    assert "the lab has no process x" in shown.output
    with pytest.raises(LabError) as raised:
        ask(home, "fail", {}, print)
    assert raised.value.exit_code == 1


def test_only_its_user_may_connect(home: Path) -> None:
    assert (home / SOCKET).stat().st_mode & 0o077 == 0


def test_what_is_no_request_gets_an_error_and_the_lab_goes_on(home: Path) -> None:
    here = os.open(home, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as wild:
        wild.connect(f"/proc/self/fd/{here}/{SOCKET}")
        wild.sendall(b"GET / HTTP/1.1\r\n")
        assert b"not a request" in wild.makefile("rb").readline()
    os.close(here)
    assert ask(home, "echo", {}, lambda _: None)["command"] == "echo"


def test_a_command_that_goes_away_does_not_hurt(home: Path) -> None:
    here = os.open(home, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as hasty:
        hasty.connect(f"/proc/self/fd/{here}/{SOCKET}")
        hasty.sendall(b'{"command": "echo", "arguments": {}}\n')
    os.close(here)
    assert ask(home, "echo", {}, lambda _: None)["command"] == "echo"


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_without_a_lab_the_way_to_start_one_is_told(tmp_path: Path, place: str) -> None:
    with pytest.raises(LabError, match="kraftgate lab start"):
        ask(tmp_path / place, "status", {}, print)


def test_a_lab_that_is_starting_is_reported_as_one(tmp_path: Path) -> None:
    with claim_home(tmp_path), pytest.raises(LabError, match="it is starting or stopping"):
        ask(tmp_path, "status", {}, print)
    with pytest.raises(LabError, match="no lab runs here"):
        ask(tmp_path, "status", {}, print)


def test_a_home_of_another_user_is_reported_as_one(home: Path) -> None:
    home.chmod(0o000)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(_NOBODY)
        with pytest.raises(LabError, match="cannot be reached: Permission denied") as raised:
            ask(home, "echo", {}, print)
    finally:
        os.seteuid(user)
        home.chmod(0o700)
    assert "user" in raised.value.fix


def test_one_step_at_a_time_and_faults_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_lab: Lab, _arguments: Message, _progress: Progress) -> Message:
        begun.set()
        assert go_on.wait(60)
        return {"done": True}

    monkeypatch.setitem(OPERATIONS, "slow", Operation(slow, step=True))
    monkeypatch.setitem(OPERATIONS, "fault", Operation(lambda *_: {}, step=False))
    operations = Operations(_LAB)
    results: list[Message] = []
    step = threading.Thread(target=lambda: results.append(operations.handle("slow", {}, print)))
    step.start()
    assert begun.wait(60)
    with pytest.raises(WrongStateError, match="another step is running: slow"):
        operations.handle("slow", {}, print)
    assert operations.handle("fault", {}, print) == {}
    go_on.set()
    step.join(60)
    assert results == [{"done": True}]
    assert operations.handle("slow", {}, print) == {"done": True}


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(WrongStateError, match="no command 'dance'"):
        Operations(_LAB).handle("dance", {}, print)
