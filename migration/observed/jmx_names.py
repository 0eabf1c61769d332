"""The JMX numbers that Kraftgate knows, by the names of their beans."""

import enum

from migration.values.foreign import INT32_MAX, INT64_MAX


class JmxName(enum.StrEnum):
    """A bean's name, and what its number means in Kafka 3.9 (read in the source, seen on 3.9.1).

    `ZkWriteSnapshotTimeMs` is left out on purpose: it is negative (KRaftMigrationDriver subtracts
    the end from the start).
    """

    ZK_MIGRATION_STATE = "ZkMigrationState"
    """As the controller has published it; -1 before that. A broker in ZooKeeper or migration mode
    reads 4 always, one in KRaft mode has no such bean."""
    MIGRATING_ZK_BROKER_COUNT = "MigratingZkBrokerCount"
    """Registrations in migration mode: one that is dead counts still. Controllers only."""
    ZK_WRITE_BEHIND_LAG = "ZkWriteBehindLag"
    """Records committed and not written to ZooKeeper. Controllers in migration mode only; 0 where
    the controller is not active and before the first dual write. It is brought up to date before
    the write is known to have succeeded, so it stays near 0 when every write fails."""
    ACTIVE_CONTROLLER_COUNT = "ActiveControllerCount"
    """1 on the active controller; 0 on a broker in migration mode."""
    QUEUED_REPLICA_TO_DIR_ASSIGNMENTS = "QueuedReplicaToDirAssignments"
    """Assignments that the controller has not confirmed (AssignmentsManager.numPending: those in
    flight count). Brokers in KRaft mode only. KIP-858 names another bean, which does not exist."""
    OFFLINE_LOG_DIRECTORY_COUNT = "OfflineLogDirectoryCount"
    """Configured log directories that the broker has given up."""

    @property
    def largest(self) -> int:
        """The largest value of the gauge's type, which is `int` or `long`; both are signed."""
        return INT64_MAX if self is JmxName.ZK_WRITE_BEHIND_LAG else INT32_MAX
