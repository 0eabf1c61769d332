"""The nodes' JMX numbers, as Kraftgate read them; empty where `jmx` is not configured."""

from typing import Final

from orchestrator.dashboard.panel import GREEN, RED, YELLOW, Panel, Query, Row, of

_NODE: Final = "node {{node}}"

JMX: Final = Row(
    title="JMX numbers",
    panels=(
        Panel(
            title="ZkWriteBehindLag",
            explains=(
                "Records that the active controller has not written to ZooKeeper. It stays near 0"
                " also while every write fails: look at the time since ZooKeeper was written."
            ),
            kind="timeseries",
            queries=(Query(expr=of("jmx_zk_write_behind_lag_records"), legend=_NODE),),
            width=8,
        ),
        Panel(
            title="QueuedReplicaToDirAssignments",
            explains=(
                "Assignments that a broker in KRaft mode asked for and the controller has not"
                " confirmed. Above 0 and flat: none is confirmed."
            ),
            kind="timeseries",
            queries=(Query(expr=of("jmx_queued_replica_to_dir_assignments"), legend=_NODE),),
            width=8,
        ),
        Panel(
            title="ZkMigrationState",
            explains="As each node tells it; a broker that needs ZooKeeper reads `zookeeper`.",
            kind="state-timeline",
            queries=(Query(expr=of("jmx_zk_migration_state"), legend=_NODE),),
            width=8,
            values=(
                (-1, "not told yet", "text"),
                (0, "none", "text"),
                (1, "migration", YELLOW),
                (2, "pre-migration", "blue"),
                (3, "post-migration", GREEN),
                (4, "zookeeper", "purple"),
            ),
        ),
        Panel(
            title="MigratingZkBrokerCount and ActiveControllerCount",
            explains="Registrations in migration mode, dead brokers too; the active controller.",
            kind="timeseries",
            queries=(
                Query(expr=of("jmx_migrating_zk_brokers"), legend=f"migrating, {_NODE}"),
                Query(
                    expr=f"{of('jmx_active_controllers')} > 0",
                    legend=f"active, {_NODE}",
                ),
            ),
            width=8,
        ),
        Panel(
            title="OfflineLogDirectoryCount",
            explains="Log directories that a broker has given up.",
            kind="timeseries",
            queries=(Query(expr=of("jmx_offline_log_directories"), legend=_NODE),),
            width=8,
            steps=((None, GREEN), (1, RED)),
        ),
        Panel(
            title="Contradictions, and age of the numbers",
            explains=(
                "Numbers that two readings show to contradict the metadata log or the disks; and"
                " how long ago each node's numbers were read, in seconds."
            ),
            kind="timeseries",
            queries=(
                Query(expr=of("jmx_contradictions"), legend=f"contradictions, {_NODE}"),
                Query(
                    expr=f"time() - {of('jmx_read_timestamp_seconds')}",
                    legend=f"age, {_NODE}",
                ),
            ),
            width=8,
        ),
    ),
    folded=True,
)
