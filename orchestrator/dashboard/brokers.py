"""Brokers: held, fenced, unfenced early; their replicas by directory state; rate and estimate."""

from typing import Final

from orchestrator.dashboard.panel import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    STATE_COLORS,
    YELLOW,
    Panel,
    Query,
    Row,
    of,
    of_brokers,
)

_PENDING: Final = f"sum by (broker) ({of_brokers('replicas', state='migrating|unassigned')})"
_STALLED_S: Final = 300
_STALLED_CRITICAL_S: Final = 900
"""As the rules have it, unless they were changed."""


def _by_broker(name: str) -> str:
    return f"sum by (broker) ({of_brokers(name)})"


BROKERS: Final = Row(
    title="Brokers",
    panels=(
        Panel(
            title="Replicas by what is known of their directory",
            explains=(
                "Of the brokers that are chosen. `migrating` and `unassigned` ones have no"
                " directory that the controllers know; `offline` ones lie in one that is not"
                " registered."
            ),
            kind="timeseries",
            queries=(Query(expr=f"sum by (state) ({of_brokers('replicas')})", legend="{{state}}"),),
            width=12,
            stacked=True,
            colors=tuple((str(state), color) for state, color in STATE_COLORS.items()),
        ),
        Panel(
            title="Replicas without a directory, by broker",
            explains="It falls while the broker is held. Where it is flat nothing gets assigned.",
            kind="timeseries",
            queries=(Query(expr=_PENDING, legend="broker {{broker}}"),),
            width=12,
        ),
        Panel(
            title="Held",
            explains=(
                "Held: in KRaft mode, with replicas without a directory since its registration."
                " Serves early: Kafka unfenced it although it is held; if one of its directories"
                " fails now, no leader is moved."
            ),
            kind="state-timeline",
            queries=(
                Query(
                    expr=f"{of_brokers('broker_held')} + {of_brokers('broker_unfenced_early')}",
                    legend="broker {{broker}}",
                ),
            ),
            width=12,
            values=((0, "not held", GREEN), (1, "held", YELLOW), (2, "held, serves early", RED)),
        ),
        Panel(
            title="Fenced",
            explains=(
                "Whether the controllers fence the broker, as they do with each that restarts or is"
                " gone, and whether it told them that it shuts down."
            ),
            kind="state-timeline",
            queries=(
                Query(
                    expr=(
                        f"{of_brokers('broker_fenced')}"
                        f" + 2 * {of_brokers('broker_in_controlled_shutdown')}"
                    ),
                    legend="broker {{broker}}",
                ),
            ),
            width=12,
            values=(
                (0, "serves", GREEN),
                (1, "fenced", RED),
                (2, "shuts down", ORANGE),
                (3, "shut down", ORANGE),
            ),
        ),
        Panel(
            title="Rate",
            explains=(
                "Replicas of a held broker that got their directory, per second, over the latest"
                " steps of its progress."
            ),
            kind="timeseries",
            queries=(
                Query(
                    expr=of_brokers("broker_assigned_replicas_per_second"),
                    legend="broker {{broker}}",
                ),
            ),
            width=8,
            unit="cps",
        ),
        Panel(
            title="Nothing held in, over time",
            explains=(
                "How long until no broker is held, at each moment: as it was expected, and between"
                " which bounds with nine chances in ten. It grows while nothing gets assigned."
            ),
            kind="timeseries",
            queries=tuple(
                Query(
                    expr=f"{of('eta_timestamp_seconds', bound=bound)} - time()",
                    legend=bound,
                )
                for bound in ("expected", "earliest", "latest")
            ),
            width=8,
            unit="s",
            colors=(("expected", BLUE), ("earliest", "light-blue"), ("latest", "light-blue")),
            band=("earliest", "latest"),
        ),
        Panel(
            title="Time without progress",
            explains=(
                "Since a replica of a held broker last got its directory, or since the broker"
                " registered. The alert KraftgateAssignmentStalled begins at the lines."
            ),
            kind="timeseries",
            queries=(
                Query(
                    expr=f"time() - {of_brokers('broker_last_progress_timestamp_seconds')}",
                    legend="broker {{broker}}",
                ),
            ),
            width=8,
            unit="s",
            steps=((None, GREEN), (_STALLED_S, ORANGE), (_STALLED_CRITICAL_S, RED)),
            lines=True,
        ),
        Panel(
            title="Brokers now",
            explains="One line for each broker. Times are those of its latest registration.",
            kind="table",
            queries=(
                Query(
                    expr=f"{of_brokers('broker_mode')} == 1",
                    legend="mode",
                    now=True,
                ),
                Query(expr=_by_broker("broker_held"), legend="Held", now=True),
                Query(expr=_by_broker("broker_fenced"), legend="Fenced", now=True),
                Query(expr=_PENDING, legend="Pending", now=True),
                Query(
                    expr=_by_broker("broker_unfenced_early_pending_replicas"),
                    legend="Pending when unfenced early",
                    now=True,
                ),
                Query(
                    expr=_by_broker("broker_unfenced_early_duration_seconds"),
                    legend="Unfenced early for (s)",
                    now=True,
                ),
                Query(
                    expr=_by_broker("broker_under_replicated_partitions"),
                    legend="Not in the ISR of",
                    now=True,
                ),
            ),
            width=24,
            hidden=("Time", "Value #A", "cluster", "instance", "job", "__name__"),
            names=(("broker", "Broker"), ("mode", "Mode")),
        ),
    ),
)
