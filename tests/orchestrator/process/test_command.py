"""A command within its time limit: the last output is kept, also that of its last moment."""

import os
import select
import subprocess
from types import SimpleNamespace

import pytest

from orchestrator.process import command
from orchestrator.process.command import OUTPUT_BYTES_MAX, CommandEnd, run_command


class EarlyPoll:
    """Reports no output at first: the command has not written yet."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._first = True

    def register(self, descriptor: int, events: int) -> None:
        self._poll.register(descriptor, events)

    def poll(self, wait_ms: float) -> list[tuple[int, int]]:
        first, self._first = self._first, False
        return [] if first else self._poll.poll(wait_ms)


def waited_for(process: "subprocess.Popen[bytes]") -> bool:
    """Wait until the command has ended, without reaping it."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT) is not None


def test_what_a_command_writes_between_a_poll_and_its_end_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    early = SimpleNamespace(poll=EarlyPoll, POLLIN=select.POLLIN)
    monkeypatch.setattr(command, "select", early)
    monkeypatch.setattr(command, "_has_exited", waited_for)
    assert run_command(["echo", "why"], os.environ, 60.0) == CommandEnd(0, b"why\n")


def test_of_a_long_output_the_end_is_kept() -> None:
    ended = run_command(["sh", "-c", "yes | head -n 20000; echo end; exit 3"], os.environ, 60.0)
    assert ended.code == 3
    assert len(ended.output) == OUTPUT_BYTES_MAX
    assert ended.output.endswith(b"y\nend\n")
