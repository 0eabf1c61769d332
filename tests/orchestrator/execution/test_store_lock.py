"""One orchestrator at a time within a state directory, and the audit log knows which."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.audit import AuditLog
from orchestrator.errors import AuditError, LockHeld
from orchestrator.execution.locks.store_lock import Held, NotHeld, StoreLock
from orchestrator.process.owner import Owner


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(tmp_path / "audit.db") as opened:
        yield opened


def lock_of(log: AuditLog, tmp_path: Path, user: str) -> StoreLock:
    owner = Owner(host="h", pid=1, user=user, since_ms=1_795_000_000_000)
    return StoreLock(tmp_path, "prod", log, owner)


def test_one_gets_it_and_the_other_is_told_who_has_it(log: AuditLog, tmp_path: Path) -> None:
    anna, bert = lock_of(log, tmp_path, "anna"), lock_of(log, tmp_path, "bert")
    taken = anna.acquire()
    found = anna.check()
    assert isinstance(found, Held)
    assert found.token == taken
    with pytest.raises(LockHeld, match="process 1 of anna on h, since 2026-11-18"):
        bert.acquire()
    assert bert.check() == NotHeld(why="it was not taken")
    log.append("prod", "tick", {}, 1, fence=taken)
    anna.release()
    assert anna.check() == NotHeld(why="it was not taken")
    assert bert.acquire() > taken
    with pytest.raises(AuditError, match="bert"):
        log.append("prod", "tick", {}, 2, fence=taken)
    bert.release()


def test_it_is_lost_to_whoever_takes_the_fence(log: AuditLog, tmp_path: Path) -> None:
    lock = lock_of(log, tmp_path, "anna")
    lock.acquire()
    log.take_fence("prod", "bert", 1)
    assert lock.check() == NotHeld(why="bert took over")
    lock.release()


_HOLDING = """
import sys, time
from pathlib import Path
from orchestrator.audit import AuditLog
from orchestrator.execution.locks.store_lock import StoreLock
from orchestrator.process.owner import Owner
directory = Path(sys.argv[1])
lock = StoreLock(directory, "prod", AuditLog.open(directory / "audit.db"), Owner.myself(1))
print(lock.acquire(), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_of_a_killed_one_it_is_free(log: AuditLog, tmp_path: Path) -> None:
    lock = lock_of(log, tmp_path, "anna")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDING, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        token = int(holder.stdout.readline())
        with pytest.raises(LockHeld, match=f"process {holder.pid} of"):
            lock.acquire()
        holder.kill()
        holder.wait()
        assert lock.acquire() > token
    assert log.verify().ok
    lock.release()
