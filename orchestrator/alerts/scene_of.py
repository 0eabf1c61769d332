"""What the alerts' rules look at, made of a look at one cluster."""

from collections.abc import Mapping

from migration.assessment.alerts import Scene, WalkSeen
from migration.assessment.conditions import DataSource, Verdict, View
from migration.observed.source_status import SourceStatus
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot, Tally
from orchestrator.walk.told import WalkTold


def scene_of(one: Snapshot, entry: ClusterEntry, view: View, tally: Tally) -> Scene:
    """Put together what the rules look at; `view`: of the same look."""
    walked = one.walk is not None and entry.runbook is not None
    return Scene(
        view=view,
        sources=configured_sources(one, entry),
        phase_began_ms=tally.phase_began_ms(one.summary.phase),
        walk=_seen(one.walk) if walked and one.walk is not None else None,
    )


def configured_sources(one: Snapshot, entry: ClusterEntry) -> Mapping[DataSource, SourceStatus]:
    """What each source that is configured says of itself."""
    every = (
        (DataSource.METADATA_LOG, entry.controllers, one.status),
        (DataSource.ZOOKEEPER, entry.zookeeper, one.zookeeper),
        (DataSource.LOG_DIRS, entry.brokers, one.log_dirs),
        (DataSource.JMX, entry.jmx, one.jmx),
    )
    return {source: status for source, configured, status in every if configured is not None}


def _seen(walk: WalkTold) -> WalkSeen:
    return WalkSeen(
        at_ms=walk.at_ms,
        checkpoint=walk.checkpoint,
        asks=walk.asks,
        violated=tuple(
            f"{each.condition}: {each.reason}"
            for each in walk.findings
            if each.verdict is Verdict.VIOLATED
        ),
    )
