"""Hazards of the migration as a whole: done too early, begun on what an earlier one left, stuck."""

from collections.abc import Iterator
from typing import Final

from migration.durations import duration_text
from migration.hazards.hazard import Action, Hazard, HazardKind, Severity, bounded
from migration.replica_state import ReplicaState
from migration.summary import ClusterSummary, Mode, Phase
from migration.zookeeper import BEACON_STALE_MS, ZooKeeperImage

JBOD_VERSION: Final = 17
"""3.7-IV2, the first metadata.version with directory assignments."""


def finalize(summary: ClusterSummary) -> Iterator[Hazard]:
    """Nothing keeps Kafka from finalizing while brokers need ZooKeeper (KAFKA-20960)."""
    done = summary.phase is Phase.FINALIZED
    if not done and summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return
    lines = [
        f"broker {each.id} is in {each.mode} mode"
        for each in summary.brokers
        if each.mode is not Mode.KRAFT
    ]
    for each in summary.brokers:
        counts = [
            f"{each.replicas[state]} {state}"
            for state in (ReplicaState.MIGRATING, ReplicaState.UNASSIGNED, ReplicaState.OFFLINE)
            if each.replicas[state]
        ]
        if counts:
            lines.append(f"broker {each.id} has replicas {', '.join(counts)}")
    if not lines:
        return
    if done:
        yield Hazard(
            kind=HazardKind.FINALIZED_TOO_EARLY,
            severity=Severity.CRITICAL,
            blocks=None,
            text="the migration was finalized although brokers or replicas were not ready for it",
            evidence=bounded(lines),
            way_out=(
                "There is no way back to ZooKeeper. Restart the brokers that are not in KRaft mode"
                " in KRaft mode, each only when all its log directories are well."
            ),
        )
        return
    yield Hazard(
        kind=HazardKind.FINALIZE_TOO_EARLY,
        severity=Severity.WARNING,
        blocks=Action.FINALIZE,
        text="the migration must not be finalized yet, and Kafka would not refuse it",
        evidence=bounded(lines),
        way_out="Wait until every broker is in KRaft mode and every replica has a directory.",
    )


def stale_migration_znode(summary: ClusterSummary, zookeeper: ZooKeeperImage) -> Iterator[Hazard]:
    """`/migration` of an earlier attempt makes a fresh quorum wipe ZooKeeper."""
    found = zookeeper.migration
    if found is None or found.offset <= 0:
        return
    if summary.phase not in (Phase.ZOOKEEPER, Phase.PRE_MIGRATION, Phase.ROLLED_BACK):
        return
    yield Hazard(
        kind=HazardKind.STALE_MIGRATION_ZNODE,
        severity=Severity.CRITICAL,
        blocks=Action.MIGRATE,
        text=(
            "/migration says that the copy is complete, and no controller made it: a fresh quorum"
            " would skip the copy and overwrite ZooKeeper with its own empty metadata"
        ),
        evidence=(
            f"/migration: kraft_metadata_offset {found.offset} of controller {found.controller_id}",
            f"the metadata log is in phase {summary.phase}",
        ),
        way_out=(
            "With all KRaft controllers stopped and a ZooKeeper broker as controller, delete"
            " /migration (zookeeper-shell: delete /migration) before any controller starts again."
        ),
        since_ms=found.written_ms,
    )


def metadata_version(summary: ClusterSummary) -> Iterator[Hazard]:
    """Below 3.7-IV2 no directory is ever assigned, so that nothing can be waited for."""
    level = summary.metadata_version
    several = [each.id for each in summary.brokers if len(each.log_dirs) > 1]
    if level is None or level >= JBOD_VERSION or not several:
        return
    yield Hazard(
        kind=HazardKind.METADATA_VERSION,
        severity=Severity.CRITICAL,
        blocks=Action.MIGRATE,
        text="the metadata.version is below 3.7-IV2, which knows no log directories",
        evidence=(
            f"metadata.version level {level}, {JBOD_VERSION} is needed",
            f"brokers with several log directories: {', '.join(map(str, several))}",
        ),
        way_out=(
            "Raise it before brokers with several directories go on:"
            " kafka-features.sh --bootstrap-server ... upgrade --metadata 3.9"
        ),
    )


def dual_write_stuck(
    summary: ClusterSummary, zookeeper: ZooKeeperImage, now_ms: int
) -> Iterator[Hazard]:
    """`/migration` is rewritten twice a second while the controller writes to ZooKeeper.

    ZkWriteBehindLag is 0 on a controller that does not lead or has not begun, so it may read
    healthy all the while.
    """
    found = zookeeper.migration
    if summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE) or found is None:
        return
    if zookeeper.blind_since_ms is not None or zookeeper.seen_ms is None:
        return
    age_ms = now_ms - found.written_ms
    if age_ms <= BEACON_STALE_MS:
        return
    yield Hazard(
        kind=HazardKind.DUAL_WRITE_STUCK,
        severity=Severity.CRITICAL,
        blocks=Action.FINALIZE,
        text=(
            f"ZooKeeper has not been written for {duration_text(age_ms)}: brokers in ZooKeeper"
            " mode, and a way back, see none of the changes since"
        ),
        evidence=(f"/migration: last written up to metadata offset {found.offset}",),
        way_out=(
            "Look into the active controller's log for KRaftMigrationDriver; restarting that"
            " controller makes another one take over and write everything again."
        ),
        since_ms=found.written_ms,
    )


def unfenced_early(summary: ClusterSummary) -> Iterator[Hazard]:
    """Kafka lets a broker serve before its directories are known."""
    for broker in summary.brokers:
        early = broker.unfenced_early
        if not broker.held or early is None:
            continue
        yield Hazard(
            kind=HazardKind.UNFENCED_EARLY,
            severity=Severity.WARNING,
            blocks=Action.RESTART,
            broker=broker.id,
            text=(
                f"broker {broker.id} serves although {broker.pending} of its replicas have no known"
                " log directory: if one fails now, Kafka does not move their leaders"
            ),
            evidence=(f"unfenced with {early.pending} pending, {broker.pending} are left",),
            way_out="Leave the broker alone until its assignments are complete.",
            since_ms=broker.unfenced_ms,
        )
