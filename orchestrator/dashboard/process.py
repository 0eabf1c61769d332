"""Kraftgate itself: does it look, what did it see, what does it take."""

from typing import Final

from orchestrator.dashboard.panel import BLUE, GREEN, RED, Panel, Query, Row, of

PROCESS: Final = Row(
    title="Kraftgate itself",
    panels=(
        Panel(
            title="Time since its last look",
            explains="A few tenths of a second. It stands still when the process hangs.",
            kind="timeseries",
            queries=(
                Query(expr="time() - kraftgate_last_look_timestamp_seconds", legend="{{instance}}"),
            ),
            width=6,
            unit="s",
            steps=((None, GREEN), (15, RED)),
            lines=True,
        ),
        Panel(
            title="Events by kind",
            explains="What was put on the timeline, within each interval of the graph.",
            kind="timeseries",
            queries=(
                Query(
                    expr=f"sum by (kind) (increase({of('events_total')}[$__rate_interval])) > 0",
                    legend="{{kind}}",
                ),
            ),
            width=10,
            stacked=True,
        ),
        Panel(
            title="CPU and memory",
            explains="Of its own process; Spark's JVM and workers are not in it.",
            kind="timeseries",
            queries=(
                Query(
                    expr="rate(kraftgate_process_cpu_seconds_total[$__rate_interval])",
                    legend="cores, {{instance}}",
                ),
                Query(
                    expr="kraftgate_process_resident_memory_bytes / 2^30",
                    legend="GiB, {{instance}}",
                ),
            ),
            width=4,
        ),
        Panel(
            title="Version",
            explains="Of Kraftgate, by the address that is scraped.",
            kind="stat",
            queries=(
                Query(expr="kraftgate_build_info", legend="{{version}} at {{instance}}", now=True),
            ),
            width=4,
            height=4,
            named=True,
            steps=((None, BLUE),),
        ),
        Panel(
            title="Cluster",
            explains="Its id, and the finalized metadata.version.",
            kind="stat",
            queries=(
                Query(
                    expr=of("cluster_info"), legend="{{cluster_id}} {{metadata_version}}", now=True
                ),
            ),
            width=4,
            height=4,
            named=True,
            steps=((None, BLUE),),
        ),
    ),
    folded=True,
)
