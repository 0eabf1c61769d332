"""The lock in ZooKeeper: one orchestrator at a time, wherever it runs, while ZooKeeper stands.

Two znodes inside Kafka's chroot, and nothing else is written:

    /kraftgate/fence    who had the lock last; every taking is a new version of it
    /kraftgate/lock     ephemeral: who has it

Both are written in one transaction that checks the fence's version: so the lock is there for as
long as its taker's session is, and the fence is as it left it for as long as nobody else took it.
The token is the transaction's zxid, which only rises, even when the znodes were removed meanwhile.
"""

import json
import time
import uuid
from dataclasses import dataclass
from typing import Final

from orchestrator.errors import LockError, LockHeld
from orchestrator.walk.boot_clock import boot_clock_s
from orchestrator.walk.lock import Acquired, Held, NotHeld
from orchestrator.walk.owner import Owner
from orchestrator.walk.zookeeper_calls import Znode, ZooKeeperCalls
from streams.zookeeper.ensemble import Ensemble

HOME: Final = "/kraftgate"
FENCE: Final = f"{HOME}/fence"
LOCK: Final = f"{HOME}/lock"
_ATTEMPTS_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    """A taking of the lock: the fence's version, and its zxid."""

    version: int
    token: int


class ZooKeeperLock:
    """Held by one orchestrator of a cluster; see `orchestrator.walk.lock` for what that means.

    Args:
        config: which ZooKeeper, with Kafka's chroot. When its taker is killed, the lock stays for
            the session timeout.
        owner: who is told to others.
    """

    def __init__(self, config: Ensemble, owner: Owner) -> None:
        self._zookeeper = ZooKeeperCalls(config)
        self._session_timeout_s = config.session_timeout_ms / 1000
        self._instance = uuid.uuid4().hex
        text = json.dumps({**json.loads(owner.to_json()), "instance": self._instance})
        self._data = text.encode()
        self._grant: _Grant | None = None

    def acquire(self, wait_s: float = 0.0) -> Acquired:
        """Take it; `wait_s`: for so long, while another has it.

        Raises:
            LockHeld: another has it.
            LockUnreachable: ZooKeeper does not answer.
            LockError: ZooKeeper refuses, or there is no such chroot.
        """
        deadline_s = time.monotonic() + wait_s
        attempts = 0
        while attempts < _ATTEMPTS_MAX:
            self._zookeeper.connect()
            found = self._zookeeper.read(LOCK)
            if found is not None and not self._is_mine(found):
                if time.monotonic() >= deadline_s:
                    raise LockHeld(_who(found))
                self._zookeeper.wait_for_change(LOCK, deadline_s)
                continue
            attempts += 1
            taken = self._take() if found is None else self._take_back(found)
            if taken is not None:
                return taken
        raise LockError(f"{LOCK} of ZooKeeper changes all the time: who else takes it?")

    def check(self) -> Held | NotHeld:
        """Ask ZooKeeper's leader whether it is still held; a transaction that changes nothing."""
        if self._grant is None:
            return NotHeld(why="it was not taken")
        if not self._zookeeper.connected:
            return NotHeld(why=self._zookeeper.why_not())
        asked_s = boot_clock_s()
        try:
            asked = self._zookeeper.transaction()
            asked.check(FENCE, self._grant.version)
            asked.check(LOCK, 0)
            if self._zookeeper.commit(asked) is None:
                return NotHeld(why=self._why_lost(self._grant))
        except LockError as error:
            return NotHeld(why=str(error))
        # ZooKeeper heard of the session since, so it lives for its timeout: what was asked for,
        # unless ZooKeeper allows less. Half of it is counted on.
        return Held(token=self._grant.token, until_s=asked_s + self._session_timeout_s / 2)

    def release(self) -> None:
        """Give it back: the session ends, and the lock with it; the fence stays."""
        self._grant = None
        self._zookeeper.close()

    def _take(self) -> Acquired | None:
        """Take a free lock; None when something changed meanwhile."""
        fence = self._fence()
        taking = self._zookeeper.transaction()
        if self._grant is not None and fence.version == self._grant.version:
            taking.check(FENCE, fence.version)
            taking.create(LOCK, self._data, ephemeral=True)
            if self._zookeeper.commit(taking) is None:
                return None
            return Acquired(token=self._grant.token, kept=True)
        taking.set_data(FENCE, self._data, fence.version)
        taking.create(LOCK, self._data, ephemeral=True)
        done = self._zookeeper.commit(taking)
        if done is None:
            return None
        self._grant = _Grant(version=done[0].version, token=done[0].mzxid)
        return Acquired(token=self._grant.token, kept=False)

    def _take_back(self, lock: Znode) -> Acquired | None:
        """The lock is there and ours: its answer was lost, or it is of an older session of ours."""
        fence = self._fence()
        if not self._is_mine(fence):
            return None
        if lock.session != self._zookeeper.session:
            again = self._zookeeper.transaction()
            again.check(FENCE, fence.version)
            again.delete(LOCK, lock.version)
            again.create(LOCK, self._data, ephemeral=True)
            if self._zookeeper.commit(again) is None:
                return None
        before, self._grant = self._grant, _Grant(version=fence.version, token=fence.zxid)
        return Acquired(token=fence.zxid, kept=before == self._grant)

    def _fence(self) -> Znode:
        """Read the fence; made when it is not there."""
        found = self._zookeeper.read(FENCE)
        if found is None:
            self._zookeeper.make(HOME)
            self._zookeeper.make(FENCE)
            found = self._zookeeper.read(FENCE)
        if found is None:
            raise LockError(f"{FENCE} of ZooKeeper is removed by somebody")
        return found

    def _is_mine(self, found: Znode) -> bool:
        try:
            said = json.loads(found.text)
        except ValueError:
            return False
        return isinstance(said, dict) and said.get("instance") == self._instance

    def _why_lost(self, grant: _Grant) -> str:
        fence = self._zookeeper.read(FENCE)
        if fence is None:
            return f"somebody removed {FENCE} of ZooKeeper"
        if fence.version != grant.version:
            owner = Owner.from_json(fence.text)
            return f"{'somebody' if owner is None else owner.words()} took over"
        return f"{LOCK} of ZooKeeper is gone: its session has expired, or somebody removed it"


def _who(found: Znode) -> str:
    owner = Owner.from_json(found.text)
    if owner is None:
        return f"somebody holds {LOCK} of ZooKeeper: {found.text[:200]!r}"
    gone = "; it has ended, and its session will soon" if owner.is_gone() else ": end it first"
    return f"{owner.words()} acts on this cluster{gone}"
