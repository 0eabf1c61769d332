"""The lock in ZooKeeper: one orchestrator at a time, on any host, while ZooKeeper is used.

It writes three znodes inside Kafka's chroot, and nothing else:

    /kraftgate/fence    the last owner of the lock; every acquisition makes a new version of it
    /kraftgate/lock     ephemeral: the current owner
    /kraftgate/step     the running step; it exists only while a step runs

Fence and lock are written in one transaction that checks the fence's version. So the lock exists
for as long as its owner's session, and the fence is unchanged for as long as nobody else takes the
lock. The token is the transaction's zxid, which only increases, even if the znodes were deleted in
the meantime.

The step is created in one transaction that checks fence and lock, before its hook is started. It is
not ephemeral: a hook outlives its orchestrator. While the znode exists, ZooKeeper rejects another
one, so that of two successive orchestrators the second begins nothing while a hook of the first may
run. The process that knows that the hook has ended deletes it: `orchestrator.execution.step_fence`.

If Kraftgate authenticates, everyone may read the three znodes and only its own identity may write
them.
"""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from migration.values.foreign import Unreadable, load_object
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.errors import LockError, LockHeld
from orchestrator.execution.locks.store_lock import Held, NotHeld
from orchestrator.process.owner import Owner
from streams.process.clocks import boot_clock_s
from streams.zookeeper.calls import Pending, Znode, ZooKeeperCalls
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import InvalidAcl, NoAnswer, NoAuth, NoNode, ZooKeeperError

HOME: Final = "/kraftgate"
"""The parent of everything that Kraftgate writes to ZooKeeper."""
FENCE: Final = f"{HOME}/fence"
LOCK: Final = f"{HOME}/lock"
STEP: Final = f"{HOME}/step"
_ATTEMPTS_MAX: Final = 20
CONNECT_S_MAX: Final = 15.0


@contextmanager
def _lock_errors() -> Iterator[None]:
    """Raise a LockError, with the fix, for each ZooKeeperError."""
    try:
        yield
    except NoAnswer as error:
        raise LockError(str(error)) from error
    except NoAuth as error:
        raise LockError(
            f"{error}: access to {HOME} is denied, it belongs to another identity. Configure the"
            " user or the certificate that created it, or delete it while nothing uses it"
        ) from error
    except InvalidAcl as error:
        raise LockError(
            f"{error}: it does not know the identity that `zookeeper` configures. Check the user,"
            " or whether the server asks for client certificates"
        ) from error
    except ZooKeeperError as error:
        raise LockError(f"{error}: the lock cannot be used") from error


class ZooKeeperLock:
    """The lock of one orchestrator of a cluster; see `orchestrator.execution.locks.store_lock`.

    Args:
        config: the ensemble, with Kafka's chroot. If the owner is killed, the lock stays for the
            session timeout.
        owner: the owner that is shown to other orchestrators.
    """

    def __init__(self, config: Ensemble, owner: Owner) -> None:
        self._config = config
        self._zookeeper = ZooKeeperCalls(config)
        self._instance = uuid.uuid4().hex
        text = json.dumps({**json.loads(owner.to_json()), "instance": self._instance})
        self._data = text.encode()
        self._token: int | None = None
        """The zxid of the fence at the last acquisition. Its version begins again if the fence is
        deleted."""
        self._running: RunningStep | None = None
        self._reading: Pending[Znode] | None = None

    @_lock_errors()
    def acquire(self, wait_s: float = 0.0, connect_s: float = CONNECT_S_MAX) -> int:
        """Take the lock, and return its token.

        It waits up to `connect_s` seconds for a connection, and up to `wait_s` seconds while
        another process holds the lock. A `wait_s` above 0 is raised to twice the session timeout,
        if that is longer.

        Raises:
            LockHeld: another process holds it.
            LockError: ZooKeeper does not answer or rejects the request, or the chroot does not
                exist.
        """
        self._zookeeper.connect(connect_s)
        if wait_s:
            wait_s = max(wait_s, 2 * self._zookeeper.session_timeout_s)
        deadline_s = time.monotonic() + wait_s
        attempts = 0
        while attempts < _ATTEMPTS_MAX:
            self._zookeeper.connect(connect_s)
            found = self._zookeeper.get(LOCK)
            if found is not None and not self._is_mine(found):
                if time.monotonic() >= deadline_s:
                    self._running = self._read_step()
                    raise LockHeld(_who(found))
                self._zookeeper.wait_for_change(LOCK, deadline_s)
                continue
            attempts += 1
            taken = self._take() if found is None else self._take_back(found)
            if taken is not None:
                self._running = self._read_step()
                return taken
        raise LockError(f"{LOCK} of ZooKeeper changes all the time: who else takes it?")

    def check(self) -> Held | NotHeld:
        """Check with ZooKeeper's leader that the lock is held, by a transaction without changes."""
        return self._checked()

    def begin(self, step: RunningStep) -> Held | NotHeld:
        """Record that a step runs, in the transaction that checks the lock."""
        # The step may be recorded even if the answer is lost.
        self._running = step
        found = self._checked(step)
        if isinstance(found, Held):
            return found
        try:
            self._running = self._read_step()
        except ZooKeeperError:
            return found
        if self._running in (None, step):
            return found
        return NotHeld(why=f"{self._running.words()}, is recorded in {STEP} of ZooKeeper")

    def running(self) -> RunningStep | None:
        """Return the last observed recorded step; does not wait for ZooKeeper."""
        if self._running is not None:
            with suppress(ZooKeeperError):
                self._refresh()
        return self._running

    @_lock_errors()
    def end(self, step: RunningStep) -> None:
        """Remove the record of a step that has ended, unless another step is recorded.

        Raises:
            LockError: ZooKeeper rejects the request.
        """
        found = self._zookeeper.get(STEP)
        if found is not None and RunningStep.from_json(found.text) == step:
            self._zookeeper.delete(STEP, found.version)
        self._running = self._reading = None

    @property
    def connected(self) -> bool:
        return self._zookeeper.connected

    def _refresh(self) -> None:
        """Store the answer about the recorded step, and send the next read."""
        reading, self._reading = self._reading, None
        if reading is not None:
            if not reading.done():
                self._reading = reading
                return
            try:
                self._running = RunningStep.from_json(reading.result().text)
            except NoNode:
                self._running = None
        if self._zookeeper.connected:
            self._reading = self._zookeeper.begin_get(STEP)

    def _read_step(self) -> RunningStep | None:
        self._reading = None
        found = self._zookeeper.get(STEP)
        return None if found is None else RunningStep.from_json(found.text)

    def _checked(self, step: RunningStep | None = None) -> Held | NotHeld:
        """Check that the lock is held, and record a step in the same transaction."""
        token = self._token
        if token is None:
            return NotHeld(why="it was not taken")
        if not self._zookeeper.connected:
            return NotHeld(why=self._zookeeper.why_not())
        asked_s = boot_clock_s()
        try:
            with _lock_errors():
                fence = self._zookeeper.get(FENCE)
                if fence is None or fence.zxid != token:
                    return NotHeld(why=_why_lost(fence, token))
                transaction = self._zookeeper.transaction()
                transaction.check(FENCE, fence.version)
                transaction.check(LOCK, 0)
                if step is not None:
                    data = step.model_dump_json().encode()
                    transaction.create(STEP, data, acl=self._zookeeper.acl)
                if self._zookeeper.commit(transaction) is None:
                    return NotHeld(why=_why_lost(self._zookeeper.get(FENCE), token))
        except LockError as error:
            return NotHeld(why=str(error))
        # ZooKeeper received a request of the session after `asked_s`, so the session lives for the
        # timeout that ZooKeeper granted. Half of it is used.
        until_s = asked_s + self._zookeeper.session_timeout_s / 2
        return Held(token=token, until_s=until_s)

    def release(self) -> None:
        """Release the lock: the session ends, and with it the lock; the fence stays."""
        self._token = None
        self._zookeeper.close()

    def _take(self) -> int | None:
        """Take a free lock; None: something changed in the meantime."""
        fence = self._fence()
        is_mine = fence.zxid == self._token
        taking = self._zookeeper.transaction()
        if is_mine:
            taking.check(FENCE, fence.version)
        else:
            taking.set_data(FENCE, self._data, fence.version)
        taking.create(LOCK, self._data, acl=self._zookeeper.acl, ephemeral=True)
        done = self._zookeeper.commit(taking)
        if done is None:
            return None
        self._token = fence.zxid if is_mine else done[0].mzxid
        return self._token

    def _take_back(self, lock: Znode) -> int | None:
        """Take over the own lock: the answer was lost, or it belongs to an own, older session."""
        fence = self._fence()
        if not self._is_mine(fence):
            return None
        if lock.session != self._zookeeper.session_id:
            again = self._zookeeper.transaction()
            again.check(FENCE, fence.version)
            again.delete(LOCK, lock.version)
            again.create(LOCK, self._data, acl=self._zookeeper.acl, ephemeral=True)
            if self._zookeeper.commit(again) is None:
                return None
        self._token = fence.zxid
        return fence.zxid

    def _fence(self) -> Znode:
        """Read the fence; create it if it does not exist, and protect it."""
        found = self._zookeeper.get(FENCE)
        if found is None:
            try:
                self._zookeeper.ensure(HOME)
            except NoNode as error:
                raise LockError(
                    f"ZooKeeper at {self._config.hosts} has no {self._config.chroot or '/'}: is it"
                    " the `zookeeper.connect` of this cluster's brokers?"
                ) from error
            self._zookeeper.ensure(FENCE)
            found = self._zookeeper.get(FENCE)
        if found is None:
            raise LockError(f"{FENCE} of ZooKeeper was deleted by another client")
        self._zookeeper.protect(HOME)
        self._zookeeper.protect(FENCE)
        return found

    def _is_mine(self, found: Znode) -> bool:
        try:
            return load_object(found.text).get("instance") == self._instance
        except Unreadable:
            return False


def _why_lost(fence: Znode | None, token: int) -> str:
    if fence is None:
        return f"another client deleted {FENCE} of ZooKeeper"
    if fence.zxid != token:
        owner = Owner.from_json(fence.text)
        return f"{'another client' if owner is None else owner.words()} took over"
    return f"{LOCK} of ZooKeeper is gone: its session has expired, or another client deleted it"


def _who(found: Znode) -> str:
    owner = Owner.from_json(found.text)
    if owner is None:
        return f"another client holds {LOCK} of ZooKeeper: {found.text[:200]!r}"
    gone = "; it has ended, and its session will soon" if owner.is_gone() else ": end it first"
    return f"{owner.words()} acts on this cluster{gone}"
