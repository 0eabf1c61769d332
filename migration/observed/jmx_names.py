"""The JMX numbers that Kraftgate reads, by the names of their beans."""

import enum
from collections.abc import Mapping
from typing import Final

from migration.values.foreign import INT32_MAX, INT64_MAX


class JmxName(enum.StrEnum):
    """A bean's name; the meaning of its number in Kafka 3.9 (from the source, checked on 3.9.1).

    `ZkWriteSnapshotTimeMs` is left out on purpose: it is negative (KRaftMigrationDriver subtracts
    the end from the start).
    """

    ZK_MIGRATION_STATE = "ZkMigrationState"
    """The state that the controller has published; -1 before that. A broker in ZooKeeper or
    migration mode always reports 4; a broker in KRaft mode has no such bean."""
    MIGRATING_ZK_BROKER_COUNT = "MigratingZkBrokerCount"
    """Registrations in migration mode, including dead brokers. Controllers only."""
    ZK_WRITE_BEHIND_LAG = "ZkWriteBehindLag"
    """Number of committed records not yet written to ZooKeeper. Controllers in migration mode only;
    0 if the controller is not active, and before the first dual write. Kafka updates it before it
    knows that the write succeeded, so it stays near 0 when every write fails."""
    ACTIVE_CONTROLLER_COUNT = "ActiveControllerCount"
    """1 on the active controller; 0 on a broker in migration mode."""
    QUEUED_REPLICA_TO_DIR_ASSIGNMENTS = "QueuedReplicaToDirAssignments"
    """Number of assignments that the controller has not confirmed (AssignmentsManager.numPending,
    including those in flight). Brokers in KRaft mode only. KIP-858 names another bean, which does
    not exist."""
    OFFLINE_LOG_DIRECTORY_COUNT = "OfflineLogDirectoryCount"
    """Number of configured log directories that the broker has taken offline."""

    @property
    def largest(self) -> int:
        """The largest value of the gauge's type, which is `int` or `long`; both are signed."""
        return INT64_MAX if self is JmxName.ZK_WRITE_BEHIND_LAG else INT32_MAX

    def words(self, value: int) -> str:
        """Return the value; a state of the migration by its name, too."""
        state = _STATES.get(value) if self is JmxName.ZK_MIGRATION_STATE else None
        return str(value) if state is None else f"{state} ({value})"


_STATES: Final[Mapping[int, str]] = {
    0: "NONE",
    1: "MIGRATION",
    2: "PRE_MIGRATION",
    3: "POST_MIGRATION",
    4: "ZK",
}
"""ZkMigrationState.java; it has no -1."""
