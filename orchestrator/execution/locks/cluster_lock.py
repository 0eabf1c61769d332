"""The locks that let only one orchestrator act on a cluster, and which of them counts when.

Within one state directory it is the audit log's fence, always. Over all hosts it is a lock in
ZooKeeper, while ZooKeeper stands and hooks are run; without hooks nothing is written there.
"""

from typing import Final

from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.errors import LockError, LockHeld
from orchestrator.execution.locks.store_lock import Held, NotHeld, OrchestratorLock, SharedLock

_SESSION_S_MAX: Final = 15.0
"""Who was killed has the lock until its session ends, some seconds later: that is waited for."""


class ClusterLock:
    """Both locks of one cluster, held until it is closed.

    Args:
        store: of the state directory.
        zookeeper: None: no hook is run, or the cluster has no ZooKeeper.
    """

    def __init__(self, store: OrchestratorLock, zookeeper: SharedLock | None) -> None:
        self._store = store
        self._zookeeper = zookeeper

    def acquire(self) -> int:
        """Take them; the fence for the audit trail.

        Raises:
            LockHeld: another orchestrator has one of them.
            LockError: one cannot be had.
            AuditError: the audit log cannot be written.
        """
        fence = self._store.acquire().token
        if self._zookeeper is not None:
            self._zookeeper.acquire(wait_s=_SESSION_S_MAX)
        return fence

    def check(self, *, zookeeper_stands: bool) -> Held | NotHeld:
        """Ask right before a step; one that was lost is taken again, if nobody else has it."""
        here = self._store.check()
        if isinstance(here, NotHeld) or self._zookeeper is None or not zookeeper_stands:
            return here
        found = self._zookeeper.check()
        if isinstance(found, Held):
            return found
        try:
            self._zookeeper.acquire()
        except (LockHeld, LockError) as error:
            return NotHeld(why=f"{found.why}; {error}")
        return self._zookeeper.check()

    def begin(self, step: RunningStep, *, zookeeper_stands: bool) -> Held | NotHeld:
        """Check the locks, and record for every host that a step runs."""
        found = self.check(zookeeper_stands=zookeeper_stands)
        if isinstance(found, NotHeld) or self._zookeeper is None or not zookeeper_stands:
            return found
        return self._zookeeper.begin(step)

    def running(self, *, zookeeper_stands: bool) -> RunningStep | None:
        """Return the step that is recorded; None also where nothing could record one."""
        if self._zookeeper is None or not (zookeeper_stands or self._zookeeper.connected):
            return None
        return self._zookeeper.running()

    def end(self, step: RunningStep) -> bool:
        """Remove the record of a step that has ended; return whether it is gone."""
        if self._zookeeper is None or not self._zookeeper.connected:
            return False
        try:
            self._zookeeper.end(step)
        except LockError:  # tried again at the next tick; the wait for it has a name meanwhile
            return False
        return True

    def close(self) -> None:
        """Give them back."""
        if self._zookeeper is not None:
            self._zookeeper.release()
        self._store.release()
