"""Several processes append to one log, and some are killed in the middle: it stays one chain."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from orchestrator.audit import AuditLog
from orchestrator.audit.anchor import Anchor, ChainHead
from orchestrator.errors import AuditError

_APPENDING = """
import sys
from pathlib import Path
from orchestrator.audit import AuditLog
name, path, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with AuditLog.open(path) as log:
    for number in range(count):
        print(log.append(name, "tick", {"number": number}, number).sequence, flush=True)
"""


@contextmanager
def appending(name: str, path: Path, count: int) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", _APPENDING, name, str(path), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.slow
def test_processes_that_begin_at_once_make_one_chain(tmp_path: Path) -> None:
    """They also make the file at once."""
    path, each = tmp_path / "audit.db", 40
    with ExitStack() as stack:
        processes = [stack.enter_context(appending(name, path, each)) for name in "abc"]
        assert [_line(process) for process in processes] == ["ready"] * 3
        for process in processes:
            _go(process)
        told = [process.communicate(timeout=120)[0].split() for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(int(number) for some in told for number in some) == list(range(1, 3 * each + 1))
    with AuditLog.open_readonly(path) as log:
        assert log.verify().ok
        for name, numbers in zip("abc", told, strict=True):
            found = log.entries(name)
            assert [each.body["number"] for each in found] == list(range(each))
            assert [each.sequence for each in found] == [int(number) for number in numbers]


@pytest.mark.slow
def test_a_killed_process_leaves_what_it_was_told_is_kept(tmp_path: Path) -> None:
    path, kept = tmp_path / "audit.db", 0
    for wanted in (1, 7, 12):
        with appending("prod", path, 100_000) as process:
            assert _line(process) == "ready"
            _go(process)
            told = [int(_line(process)) for _ in range(wanted)]
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            told += [int(line) for line in process.stdout.read().split("\n")[:-1]]
        assert told[0] == kept + 1
        with AuditLog.open(path) as log:
            assert log.verify().ok
            found = log.last()[0].sequence
            assert told[-1] <= found <= told[-1] + 1
            kept = log.append("prod", "resumed", {}, 1).sequence


def test_killed_before_the_head_is_kept_the_entry_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.db"

    def full(_anchor: Anchor, _head: ChainHead) -> None:
        raise AuditError("no space left")

    with AuditLog.open(path) as log:
        log.append("prod", "tick", {}, 1)
        with monkeypatch.context() as patch:
            patch.setattr(Anchor, "write", full)
            with pytest.raises(AuditError, match="no space"):
                log.append("prod", "tick", {}, 2)
    with AuditLog.open(path) as log:
        assert log.verify().ok
        assert log.append("prod", "tick", {}, 3).sequence == 3
        assert log.verify().ok
    assert Anchor(path).read() == ChainHead(sequence=3, hash=log_head(path))


def log_head(path: Path) -> str:
    with AuditLog.open_readonly(path) as log:
        return log.last()[0].hash
