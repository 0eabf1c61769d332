"""How well the cluster is seen: each source, the comparisons, what ZooKeeper is told."""

from typing import Final

from orchestrator.dashboard.panel import GREEN, ORANGE, RED, YELLOW, Panel, Query, Row, of

_STALE_S: Final = 15

SOURCES: Final = Row(
    title="Sources",
    panels=(
        Panel(
            title="Sources that are current",
            explains=(
                "Whether what is known from a source is the present. While one is not, what this"
                " page says of it is what was last known."
            ),
            kind="state-timeline",
            queries=(Query(expr=of("source_current"), legend="{{source}}"),),
            width=12,
            height=6,
            values=((0, "not current", RED), (1, "current", GREEN)),
        ),
        Panel(
            title="Time since the last answer",
            explains="The log directories and JMX are polled every ten seconds, the others follow.",
            kind="timeseries",
            queries=(
                Query(
                    expr=f"time() - {of('source_last_reply_timestamp_seconds')}",
                    legend="{{source}}",
                ),
            ),
            width=12,
            height=6,
            unit="s",
            steps=((None, GREEN), (_STALE_S, RED)),
            lines=True,
        ),
        Panel(
            title="Seen and not taken in yet",
            explains="Records or facts. It is near 0, or Kraftgate cannot follow.",
            kind="timeseries",
            queries=(Query(expr=of("source_unread"), legend="{{source}}"),),
            width=6,
        ),
        Panel(
            title="Metadata log",
            explains="Records that are committed and not in, and records of unknown kinds.",
            kind="timeseries",
            queries=(
                Query(
                    expr=f"{of('metadata_high_watermark')} - 1 - {of('metadata_offset')}",
                    legend="behind",
                ),
                Query(expr=of("metadata_unknown_records"), legend="unknown"),
            ),
            width=6,
            colors=(("behind", YELLOW), ("unknown", RED)),
        ),
        Panel(
            title="Time since ZooKeeper was written",
            explains=(
                "The controllers rewrite /migration twice a second while they write to ZooKeeper,"
                " so in dual write its age stays near 0. It stands still once that is finalized."
            ),
            kind="timeseries",
            queries=(
                Query(
                    expr=f"time() - {of('migration_znode_written_timestamp_seconds')}",
                    legend="/migration",
                ),
            ),
            width=6,
            unit="s",
            steps=((None, GREEN), (30, RED)),
            lines=True,
        ),
        Panel(
            title="Differences",
            explains=(
                "Of ZooKeeper's content and of the disks from the metadata log, as two comparisons"
                " found them."
            ),
            kind="timeseries",
            queries=(Query(expr=of("comparison_differences"), legend="{{of}}"),),
            width=6,
            colors=(("zookeeper", ORANGE), ("log_dirs", RED)),
        ),
    ),
)
