"""The locks that let only one orchestrator act on a cluster, and when each of them counts.

Within one state directory the fence of the audit trail always counts. Across all hosts a lock in
ZooKeeper counts, as long as the cluster uses ZooKeeper and hooks are run; without hooks nothing is
written there.
"""

from typing import Final

from migration.image.summary import WITHOUT_ZOOKEEPER
from orchestrator.audit import AuditLog
from orchestrator.audit.execution.running_step import RunningStep
from orchestrator.config.load import Config
from orchestrator.config.models import ClusterEntry
from orchestrator.config.targets import ensemble_of
from orchestrator.errors import LockError
from orchestrator.execution.locks.store_lock import Held, NotHeld, StoreLock
from orchestrator.execution.locks.zookeeper_lock import CONNECT_S_MAX, ZooKeeperLock
from orchestrator.process.owner import Owner
from orchestrator.run.reader import open_store

_SESSION_S_MAX: Final = 15.0
"""An orchestrator that was killed holds the lock until its session ends, some seconds later;
`acquire` waits that long."""


class ClusterLock:
    """Both locks of one cluster, held until `close`.

    Args:
        store: the lock of the state directory.
        zookeeper: None: no hook is run, or the cluster uses no ZooKeeper.
    """

    def __init__(self, store: StoreLock, zookeeper: ZooKeeperLock | None) -> None:
        self._store = store
        self._zookeeper = zookeeper
        self._token: int | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        entry: ClusterEntry,
        log: AuditLog,
        owner: Owner,
        *,
        runs_hooks: bool = True,
    ) -> "ClusterLock":
        """Return the locks of a cluster, not taken yet.

        A finalized migration needs none in ZooKeeper, which may be switched off then.

        Raises:
            FollowingError: the store cannot be read.
        """
        zookeeper = None
        if runs_hooks and entry.zookeeper is not None and not _is_finalized(config, entry.name):
            zookeeper = ZooKeeperLock(ensemble_of(entry.zookeeper), owner)
        return cls(StoreLock(config.state_dir, entry.name, log, owner), zookeeper)

    def acquire(self) -> int:
        """Take both locks; return the fence for the audit trail.

        Raises:
            LockHeld: another orchestrator holds one of them.
            LockError: one cannot be taken.
            AuditError: the audit trail cannot be written.
        """
        fence = self._store.acquire()
        if self._zookeeper is not None:
            self._token = self._zookeeper.acquire(wait_s=_SESSION_S_MAX)
        return fence

    def begin(self, step: RunningStep, *, has_zookeeper: bool) -> Held | NotHeld:
        """Check the locks right before a step, and record for every host that it runs.

        The loop of all clusters calls it, so it does not wait for a connection: ZooKeeper's client
        goes on connecting, and a later tick finds the connection.
        """
        here = self.check(has_zookeeper=has_zookeeper, connect_s=0.0)
        if isinstance(here, NotHeld) or self._zookeeper is None or not has_zookeeper:
            return here
        return self._zookeeper.begin(step)

    def check(self, *, has_zookeeper: bool, connect_s: float = CONNECT_S_MAX) -> Held | NotHeld:
        """Check the locks; the shared one is retaken if it was lost and is free.

        Without a connection to ZooKeeper it waits up to `connect_s` seconds for one.

        If another orchestrator held it meanwhile, the next check finds it held: what was decided
        until now must be evaluated again.
        """
        here = self._store.check()
        if isinstance(here, NotHeld) or self._zookeeper is None or not has_zookeeper:
            return here
        found = self._zookeeper.check()
        if isinstance(found, NotHeld):
            try:
                again = self._zookeeper.acquire(connect_s=connect_s)
                before, self._token = self._token, again
            except LockError as error:
                return NotHeld(why="; ".join(dict.fromkeys((found.why, str(error)))))
            if self._token != before:
                return NotHeld(why=f"{found.why}; another orchestrator held it meanwhile")
        return here

    def running(self, *, has_zookeeper: bool) -> RunningStep | None:
        """Return the recorded step; None also if nothing could have recorded one."""
        if self._zookeeper is None or not (has_zookeeper or self._zookeeper.connected):
            return None
        return self._zookeeper.running()

    @property
    def is_readable(self) -> bool:
        """Whether the record of a step, or its absence, can be read now."""
        return self._zookeeper is not None and self._zookeeper.connected

    def end(self, step: RunningStep) -> bool:
        """Remove the record of a step that has ended; return whether it is gone."""
        if self._zookeeper is None or not self._zookeeper.connected:
            return False
        try:
            self._zookeeper.end(step)
        except LockError:  # retried at the next tick; meanwhile `StepFence.waits` reports the wait
            return False
        return True

    def close(self) -> None:
        if self._zookeeper is not None:
            self._zookeeper.release()
        self._store.release()


def _is_finalized(config: Config, cluster: str) -> bool:
    """Whether the store has the end of the migration, which nothing reverses."""
    store = open_store(config.state_dir)
    if store is None:
        return False
    with store:
        summary = store.summary(cluster)
    return summary is not None and summary.phase in WITHOUT_ZOOKEEPER
