"""One migration night as summaries and events, for the tests of screens and words."""

from collections.abc import Mapping
from dataclasses import replace

from migration.image.summary import (
    BrokerSummary,
    ClusterSummary,
    Mode,
    Phase,
    Progress,
    UnfencedEarly,
)
from migration.metadata.events import Event
from migration.metadata.replica_state import ReplicaState
from migration.observed.source_status import SourceStatus
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import Step
from orchestrator.run.reader import ClusterRead

NOW_MS = 1_790_000_000_000
FIVE_MINUTES_MS = 300_000


def replicas(**counts: int) -> Mapping[ReplicaState, int]:
    return {state: counts.get(str(state), 0) for state in ReplicaState}


def kraft(broker: int, **changes: object) -> BrokerSummary:
    """A broker in KRaft mode that is in order."""
    settled = BrokerSummary(
        id=broker,
        epoch=645,
        mode=Mode.KRAFT,
        fenced=False,
        in_controlled_shutdown=False,
        held=False,
        log_dirs=("uSLaubyUxZGsRKrz8FtoCw", "AQEBAQEBAQEBAQEBAQEBAQ"),
        replicas=replicas(assigned=32),
        registered_offset=645,
        registered_ms=NOW_MS - 60_000,
        unfenced_offset=648,
        unfenced_ms=NOW_MS - 59_930,
        assignments_complete_offset=680,
        assignments_complete_ms=NOW_MS - 59_860,
        unfenced_early=None,
        progress=None,
    )
    return replace(settled, **changes)  # type: ignore[arg-type]


def progress(*steps: tuple[int, int], now_ms: int = NOW_MS) -> Progress:
    """Progress in steps of (ms before now, replicas), the oldest first."""
    found = tuple(Step(now_ms - before_ms, assigned) for before_ms, assigned in steps)
    return Progress(
        assigned=sum(step.assigned for step in found),
        first_ms=found[0].at_ms,
        last_ms=found[-1].at_ms,
        recent=found,
    )


def held(broker: int, **changes: object) -> BrokerSummary:
    """A broker that Kafka unfenced early, with 12 of 64 replicas pending."""
    shape: dict[str, object] = {
        "held": True,
        "replicas": replicas(assigned=52, migrating=8, unassigned=4),
        "registered_ms": NOW_MS - 30_000,
        "unfenced_ms": NOW_MS - 29_900,
        "assignments_complete_offset": None,
        "assignments_complete_ms": None,
        "unfenced_early": UnfencedEarly(pending=64, duration_ms=None),
        "progress": progress((29_500, 2), (20_000, 20), (12_000, 20), (4_000, 10)),
    }
    return kraft(broker, **(shape | changes))


def migrating(broker: int, **changes: object) -> BrokerSummary:
    """A broker that is still in ZooKeeper mode and registered for migration."""
    shape: dict[str, object] = {
        "mode": Mode.MIGRATING,
        "replicas": replicas(migrating=32),
        "assignments_complete_offset": None,
        "assignments_complete_ms": None,
    }
    return kraft(broker, **(shape | changes))


def cluster(phase: Phase, *brokers: BrokerSummary, offset: int = 1439) -> ClusterSummary:
    return ClusterSummary(
        cluster="prod",
        metadata_offset=offset,
        observed_ms=NOW_MS - 300,
        leader_epoch=7,
        active_controller=3000,
        phase=phase,
        metadata_version=21,
        topics=4,
        partitions=32,
        unknown_records=0,
        brokers=brokers,
    )


FRESH = SourceStatus(
    observed_ms=NOW_MS - 200,
    last_reply_ms=NOW_MS - 400,
    next_offset=1440,
    high_watermark=1440,
    active_controller=3000,
    leader_epoch=7,
    endpoint="127.0.0.1:9093",
)

EVENTS = (
    (1, Event(offset=412, timestamp_ms=NOW_MS - 90_000, kind="phase_changed",
              fields={"now": "hybrid", "was": "copying"})),
    (2, Event(offset=645, timestamp_ms=NOW_MS - 60_000, kind="broker_registered", broker=1,
              fields={"mode": "kraft", "epoch": 645, "pending": 32, "log_dirs": ["a", "b"]})),
    (3, Event(offset=645, timestamp_ms=NOW_MS - 60_000, kind="broker_held", broker=1,
              fields={"pending": 32})),
    (4, Event(offset=648, timestamp_ms=NOW_MS - 59_930, kind="broker_unfenced_early", broker=1,
              fields={"pending": 32})),
    (5, Event(offset=680, timestamp_ms=NOW_MS - 59_860, kind="assignments_complete", broker=1)),
)  # fmt: skip

HYBRID = ClusterRead(
    summary=cluster(
        Phase.HYBRID,
        kraft(1, unfenced_early=UnfencedEarly(pending=32, duration_ms=70)),
        migrating(2),
        held(3),
    ),
    events=EVENTS,
    status=FRESH,
)
"""Broker 1 is done, 2 still in ZooKeeper mode, 3 held and unfenced early."""
WATCHED = replace(
    HYBRID,
    summary=replace(HYBRID.summary, zookeeper=ZooKeeperImage(seen_ms=NOW_MS - 60_000)),
    zookeeper=FRESH,
)
"""The same, with ZooKeeper current."""
