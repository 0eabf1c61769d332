"""Real runs of hooks: small commands in Python, waited for, and nothing of them left behind."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from orchestrator.hooks.files import STARTED, read_json
from orchestrator.hooks.runs import Ended, Hook, HookRuns
from orchestrator.redaction.known_secrets import Secrets
from tests.support.processes import kill_all

T = TypeVar("T")
MARK = ("TEST_OF",)
"""A hook is passed this: the processes of a test are known by it."""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """A command that runs some Python."""
    return (sys.executable, "-c", code, *arguments)


def hook(
    *argv: str, timeout_s: float = 60.0, patience_s: float = 10.0, secrets: Secrets | None = None
) -> Hook:
    return Hook(
        argv=argv,
        timeout_s=timeout_s,
        patience_s=patience_s,
        secrets=secrets or Secrets(),
        pass_env=MARK if MARK[0] in os.environ else (),
    )


def until(ask: Callable[[], T | None], within_s: float = 60.0) -> T:
    """Ask until there is an answer."""
    deadline_s = time.monotonic() + within_s
    while (found := ask()) is None:
        assert time.monotonic() < deadline_s, f"nothing within {within_s} s"
        time.sleep(0.01)
    return found


def ended(runs: HookRuns, run_id: str, within_s: float = 60.0) -> Ended:
    """Wait for the end of a run."""

    def look() -> Ended | None:
        found = runs.state(run_id)
        return found if isinstance(found, Ended) else None

    return until(look, within_s)


def ran(runs: HookRuns, what: Hook, run_id: str = "run-1") -> tuple[Ended, bytes]:
    """Start, wait, and give what was printed."""
    runs.start(run_id, what)
    found = ended(runs, run_id)
    return found, found.output.read_bytes()


def stop(state: Path, run_id: str) -> None:
    """Ask the supervisor of a run to end its command, as an operator's `kill` does."""
    started = read_json(state / "hooks" / run_id / STARTED)
    assert started is not None
    os.kill(started["pid"], signal.SIGTERM)


def number_in(path: Path) -> int | None:
    """The number that a process wrote there, once it is whole."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None


def is_gone(pid: int) -> bool | None:
    """Whether a process has ended; None while it has not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE or None
    except psutil.NoSuchProcess:
        return True


def processes_in(directory: Path) -> list[psutil.Process]:
    """Processes that have the directory in their command line or environment, but this one."""
    found = []
    for each in psutil.process_iter():
        try:
            text = [*each.cmdline(), *each.environ().values()]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if each.pid != os.getpid() and any(str(directory) in part for part in text):
            found.append(each)
    return found


@contextmanager
def nothing_left_behind(directory: Path) -> Iterator[None]:
    """Fail when a process of the test is still there at its end, and kill it."""
    yield
    deadline_s = time.monotonic() + 60.0
    while (left := processes_in(directory)) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    running = [str(each) for each in left if each.is_running()]
    kill_all(left)
    assert running == []
