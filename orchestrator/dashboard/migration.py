"""Where the migration stands, what is waited for, and since when."""

from typing import Final

from migration.summary import Phase
from orchestrator.dashboard.panel import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    YELLOW,
    Panel,
    Query,
    Row,
    of,
)

_PHASE_COLORS: Final = {
    Phase.ZOOKEEPER: GREY,
    Phase.PRE_MIGRATION: BLUE,
    Phase.COPYING: "purple",
    Phase.HYBRID: ORANGE,
    Phase.DUAL_WRITE: YELLOW,
    Phase.FINALIZED: GREEN,
    Phase.ROLLED_BACK: RED,
    Phase.KRAFT: "dark-green",
}
_PHASES: Final = tuple(
    (number, str(phase), _PHASE_COLORS[phase]) for number, phase in enumerate(Phase, start=1)
)
# One number for the phase that is, for one lane of colours: the others count nought.
_PHASE: Final = (
    "sum by (cluster) (\n  "
    + "\n  or ".join(f"{of('phase', phase=name)} * {number}" for number, name, _ in _PHASES)
    + "\n)"
)
_STEP: Final = (
    f'max by (step) (label_replace({of("checkpoint")}, "step", "$1", "checkpoint", "([^[]+).*"))'
)

HEAD: Final = (
    Panel(
        title="Phase",
        explains="Where the migration stands. Whether that is the present says the panel beside.",
        kind="stat",
        queries=(Query(expr=_PHASE, legend="phase", now=True),),
        width=4,
        height=4,
        values=_PHASES,
    ),
    Panel(
        title="Checkpoint",
        explains="Where the walk through the runbook stands; empty when none is walked.",
        kind="stat",
        queries=(
            Query(expr=f"{of('checkpoint')} == 1", legend="{{checkpoint}}: {{stage}}", now=True),
        ),
        width=5,
        height=4,
        named=True,
        steps=((None, BLUE),),
    ),
    Panel(
        title="Brokers held",
        explains=(
            "Brokers that registered in KRaft mode and have replicas without a directory since. Do"
            " not restart the next one before this is 0."
        ),
        kind="stat",
        queries=(Query(expr=f"sum({of('broker_held')})", legend="held", now=True),),
        width=3,
        height=4,
        steps=((None, GREEN), (1, YELLOW)),
    ),
    Panel(
        title="Replicas without a directory",
        explains="Of all brokers: migrating and unassigned ones.",
        kind="stat",
        queries=(
            Query(
                expr=f"sum({of('replicas', state='migrating|unassigned')})",
                legend="pending",
                now=True,
            ),
        ),
        width=3,
        height=4,
        steps=((None, GREEN), (1, YELLOW)),
    ),
    Panel(
        title="Nothing held in",
        explains=(
            "How long until no broker is held any more, if replicas go on to get their directories"
            " as they did. Empty: nothing is held, there is no rate yet, or a broker stalled."
        ),
        kind="stat",
        queries=(
            Query(
                expr=f"{of('eta_timestamp_seconds', bound='expected')} - time()",
                legend="expected",
                now=True,
            ),
        ),
        width=3,
        height=4,
        unit="s",
        steps=((None, BLUE),),
    ),
    Panel(
        title="Hazards that forbid a step",
        explains="Each stands in the table below. `kraftgate hazards` has evidence and way out.",
        kind="stat",
        queries=(
            Query(
                expr=f"count({of('hazard', blocks='restart|migrate|finalize')}) or vector(0)",
                legend="hazards",
                now=True,
            ),
        ),
        width=3,
        height=4,
        steps=((None, GREEN), (1, RED)),
    ),
    Panel(
        title="Age of the metadata log's data",
        explains="Time since a controller last answered. Above 15 s nothing here is the present.",
        kind="stat",
        queries=(
            Query(
                expr=f"time() - {of('source_last_reply_timestamp_seconds', source='metadata_log')}",
                legend="age",
                now=True,
            ),
        ),
        width=3,
        height=4,
        unit="s",
        steps=((None, GREEN), (15, RED)),
    ),
)

PROGRESS: Final = Row(
    title="The migration",
    panels=(
        Panel(
            title="Phase over time",
            explains="The phases of the window, one after the other.",
            kind="state-timeline",
            queries=(Query(expr=_PHASE, legend="phase"),),
            width=24,
            height=4,
            values=_PHASES,
        ),
        Panel(
            title="Checkpoints of the runbook",
            explains=(
                "When the walk stood at which checkpoint; of one that is walked broker by broker,"
                " all brokers together."
            ),
            kind="state-timeline",
            queries=(Query(expr=_STEP, legend="{{step}}"),),
            width=12,
            values=((1, "here", BLUE),),
        ),
        Panel(
            title="What is waited for",
            explains="How many waits there are of each name. Every wait has a reason: see status.",
            kind="state-timeline",
            queries=(Query(expr=f"{of('waits')} > 0", legend="{{wait}}"),),
            width=12,
            steps=((None, YELLOW),),
        ),
        Panel(
            title="Conditions of the checkpoint",
            explains=(
                "Its guards or its gate, by verdict. Waiting ones come by themselves or by the step"
                " that is taken; a violated one needs a person; unknown ones lack data."
            ),
            kind="timeseries",
            queries=(
                Query(
                    expr=f"sum by (verdict) ({of('checkpoint_conditions')})", legend="{{verdict}}"
                ),
            ),
            width=12,
            stacked=True,
            colors=(
                ("satisfied", GREEN),
                ("waiting", YELLOW),
                ("violated", RED),
                ("unknown", GREY),
            ),
        ),
        Panel(
            title="Brokers by mode",
            explains="In ZooKeeper mode, in migration mode, in KRaft mode.",
            kind="timeseries",
            queries=(Query(expr=of("brokers"), legend="{{mode}}"),),
            width=6,
            stacked=True,
            colors=(("zookeeper", GREY), ("migrating", YELLOW), ("kraft", GREEN)),
        ),
        Panel(
            title="Partitions not as they should be",
            explains="With a replica that is not in the ISR, without a leader, being reassigned.",
            kind="timeseries",
            queries=(
                Query(expr=of("under_replicated_partitions"), legend="under-replicated"),
                Query(expr=of("leaderless_partitions"), legend="leaderless"),
                Query(expr=of("reassigning_partitions"), legend="reassigning"),
            ),
            width=6,
            colors=(("under-replicated", YELLOW), ("leaderless", RED), ("reassigning", BLUE)),
        ),
    ),
)
