"""The brokers' log directories: usable or not, how full, and how well they are known."""

from typing import Final

from orchestrator.dashboard.panel import GREEN, GREY, RED, YELLOW, Panel, Query, Row, of_brokers


def _by_dir(name: str) -> str:
    return f"sum by (broker, log_dir) ({of_brokers(name)})"


LOG_DIRS: Final = Row(
    title="Log directories",
    panels=(
        Panel(
            title="Log directories",
            explains=(
                "Of the brokers that are chosen. Unknown: the broker does not answer, and nobody"
                " looked on its host."
            ),
            kind="timeseries",
            queries=(
                Query(expr=f"sum by (state) ({of_brokers('broker_log_dirs')})", legend="{{state}}"),
            ),
            width=6,
            stacked=True,
            colors=(("online", GREEN), ("offline", RED), ("unknown", GREY)),
        ),
        Panel(
            title="Directories that cannot be used",
            explains="Empty is good. Do not restart such a broker before you know what that loses.",
            kind="state-timeline",
            queries=(
                Query(
                    expr=f"{of_brokers('log_dir_online')} == 0",
                    legend="broker {{broker}} {{log_dir}}",
                ),
            ),
            width=6,
            values=((0, "offline", RED),),
        ),
        Panel(
            title="Fullest volumes",
            explains="What of the volume that a directory is on is used; the ten fullest.",
            kind="timeseries",
            queries=(
                Query(
                    expr=(
                        f"topk(10, 1 - {of_brokers('log_dir_volume_usable_bytes')}"
                        f" / {of_brokers('log_dir_volume_bytes')})"
                    ),
                    legend="broker {{broker}} {{log_dir}}",
                ),
            ),
            width=6,
            unit="percentunit",
            steps=((None, GREEN), (0.85, YELLOW), (0.95, RED)),
            lines=True,
        ),
        Panel(
            title="Age of the brokers' word on their directories",
            explains="A broker that answers is asked at least once a minute.",
            kind="timeseries",
            queries=(
                Query(
                    expr=f"time() - {of_brokers('broker_log_dirs_told_timestamp_seconds')}",
                    legend="broker {{broker}}",
                ),
            ),
            width=6,
            unit="s",
            steps=((None, GREEN), (120, YELLOW)),
            lines=True,
        ),
        Panel(
            title="Directories now",
            explains="Replicas by the broker's own word, those on their way into it left out.",
            kind="table",
            queries=(
                Query(expr=_by_dir("log_dir_online"), legend="Online", now=True),
                Query(expr=_by_dir("log_dir_replicas"), legend="Replicas", now=True),
                Query(expr=_by_dir("log_dir_size_bytes"), legend="Bytes of their logs", now=True),
                Query(
                    expr=_by_dir("log_dir_volume_usable_bytes"),
                    legend="Bytes free on the volume",
                    now=True,
                ),
            ),
            width=24,
            hidden=("Time",),
            names=(("broker", "Broker"), ("log_dir", "Log directory")),
        ),
    ),
)
