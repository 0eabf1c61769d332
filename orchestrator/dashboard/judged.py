"""Hazards and alerts: what is dangerous, and whom it was told."""

from typing import Final

from orchestrator.dashboard.panel import BLUE, ORANGE, RED, YELLOW, Panel, Query, Row, of

HAZARDS: Final = Row(
    title="Hazards and alerts",
    panels=(
        Panel(
            title="Hazards that stand",
            explains=(
                "What it forbids, and the broker it is about. `kraftgate hazards` has the evidence"
                " and the way out; runbooks/alerts/ has what to do."
            ),
            kind="table",
            queries=(Query(expr=f"{of('hazard')} == 1", legend="hazard", now=True),),
            width=12,
            hidden=("Time", "Value", "cluster", "instance", "job", "__name__"),
            names=(
                ("hazard", "Hazard"),
                ("severity", "Severity"),
                ("blocks", "Forbids"),
                ("broker", "Broker"),
            ),
        ),
        Panel(
            title="Hazards over time",
            explains="Since when and until when a hazard of each kind stood.",
            kind="state-timeline",
            queries=(Query(expr=f"{of('hazard_active')} == 1", legend="{{hazard}}"),),
            width=12,
            values=((1, "stands", RED),),
        ),
        Panel(
            title="Alerts of Prometheus",
            explains=(
                "By the rules in runbooks/prometheus: pending, and firing. Empty where they are not"
                " loaded."
            ),
            kind="state-timeline",
            queries=(
                Query(
                    expr=(
                        "max by (alertname, severity, broker, source, alertstate) ("
                        'ALERTS{alertname=~"Kraftgate.+", cluster="$cluster"})'
                    ),
                    legend="{{alertname}} {{severity}} {{broker}}{{source}} {{alertstate}}",
                ),
            ),
            width=12,
            values=((1, " ", ORANGE),),
        ),
        Panel(
            title="Alerts by Kraftgate itself",
            explains=(
                "The same by its own judgement, as it sends them itself; of one that it cannot tell"
                " to be over, what was last known."
            ),
            kind="state-timeline",
            queries=(
                Query(
                    expr=f"{of('alerts')} > 0",
                    legend="{{alertname}} {{severity}} {{state}}",
                ),
            ),
            width=12,
            steps=((None, ORANGE),),
        ),
        Panel(
            title="Notices that Kraftgate sends",
            explains=(
                "To each receiver that is configured, within each interval of the graph: taken, and"
                " attempts that failed; and those that are due. Of all clusters of an instance."
            ),
            kind="timeseries",
            queries=(
                Query(
                    expr="increase(kraftgate_notices_sent_total[$__rate_interval])",
                    legend="taken by {{receiver}}, {{instance}}",
                ),
                Query(
                    expr="increase(kraftgate_notices_failed_total[$__rate_interval])",
                    legend="failed to {{receiver}}, {{instance}}",
                ),
                Query(
                    expr="kraftgate_notices_waiting",
                    legend="due to {{receiver}}, {{instance}}",
                ),
            ),
            width=12,
        ),
        Panel(
            title="Hazards can be seen",
            explains=(
                "Whether everything is known that would show a hazard: where it is not, that none"
                " stands says little."
            ),
            kind="state-timeline",
            queries=(Query(expr=of("hazards_known"), legend="all known"),),
            width=12,
            values=((0, "not all known", YELLOW), (1, "all known", BLUE)),
        ),
    ),
)
