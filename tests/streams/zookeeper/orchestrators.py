"""Orchestrators that compete for the lock: in this process, and in one to freeze and kill."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.execution.locks.zookeeper_lock import ZooKeeperLock
from orchestrator.process.owner import Owner
from streams.zookeeper.ensemble import Ensemble
from tests.streams.zookeeper.watching import SESSION_TIMEOUT_MS, end_session

SINCE_MS = 1_795_000_000_000


def config(connect: str, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> Ensemble:
    return Ensemble(connect=connect, session_timeout_ms=session_timeout_ms)


@contextmanager
def orchestrating(
    connect: str, user: str = "anna", pid: int = 1, session_timeout_ms: int = SESSION_TIMEOUT_MS
) -> Iterator[ZooKeeperLock]:
    owner = Owner(host=f"host-of-{user}", pid=pid, user=user, since_ms=SINCE_MS)
    lock = ZooKeeperLock(config(connect, session_timeout_ms), owner)
    try:
        yield lock
    finally:
        lock.release()


def expire(lock: ZooKeeperLock, connect: str) -> None:
    """End the lock's session."""
    client = lock._zookeeper._client
    assert client is not None
    end_session(connect, client.client_id)


_SCRIPT = """
import json, sys
from orchestrator.errors import LockError
from orchestrator.execution.locks.store_lock import Held
from orchestrator.process.owner import Owner
from orchestrator.execution.locks.zookeeper_lock import ZooKeeperLock
from streams.zookeeper.ensemble import Ensemble
lock = ZooKeeperLock(
    Ensemble(connect=sys.argv[1], session_timeout_ms=int(sys.argv[2])), Owner.myself(1)
)
for line in sys.stdin:
    if line == "acquire\\n":
        try:
            print(json.dumps({"token": lock.acquire()}), flush=True)
        except LockError as error:
            print(json.dumps({"refused": str(error)}), flush=True)
    else:
        found = lock.check()
        answer = {"until_s": found.until_s} if isinstance(found, Held) else {"why": found.why}
        print(json.dumps(answer), flush=True)
lock.release()
"""


class Another:
    """An orchestrator in its own process."""

    def __init__(self, connect: str, session_timeout_ms: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, connect, str(session_timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, command: str) -> None:
        """Send a command; `told` waits for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def told(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, command: str) -> dict[str, Any]:
        self.send(command)
        return self.told()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def another(connect: str, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> Iterator[Another]:
    made = Another(connect, session_timeout_ms)
    with made.process:
        try:
            yield made
            made.process.communicate(timeout=180)
        finally:
            made.process.kill()
