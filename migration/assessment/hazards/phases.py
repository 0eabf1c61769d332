"""Hazards of the whole migration: finalized too early, or begun with an earlier attempt's state."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.hazards.hazard import Action, Hazard, HazardKind
from migration.image.known_ids import in_zookeeper
from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.image.wipe import skipped_at
from migration.metadata.replica_state import ReplicaState
from migration.metadata.versions import JBOD_LEVEL, JBOD_NAME, name_of
from migration.observed.log_dirs import DisksImage
from migration.observed.znode_codec import MigrationZnode
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.evidence import count


def finalize(summary: ClusterSummary, *, is_near: bool | None) -> Iterator[Hazard]:
    """Yield a hazard if brokers still need ZooKeeper: Kafka finalizes nevertheless (KAFKA-20960).

    During a migration it is normal that brokers are not ready: the hazard is due once finalizing is
    near. Without a runbook (`is_near` None) it is due once each broker is in KRaft mode, because
    then no other step is left.
    """
    done = summary.phase is Phase.FINALIZED
    if not done and summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        return
    lines = [
        f"broker {each.id} is in {each.mode} mode"
        for each in summary.brokers
        if each.mode is not Mode.KRAFT
    ]
    returned = frozenset() if done else in_zookeeper(summary)
    lines += [
        f"broker {each.id} is in /brokers/ids: it runs in ZooKeeper or migration mode"
        for each in summary.brokers
        if each.mode is Mode.KRAFT and each.id in returned
    ]
    for each in summary.brokers:
        ready = _ready_after(each) if done else (ReplicaState.ASSIGNED,)
        counts = [
            f"{each.replicas[state]} {state}"
            for state in ReplicaState
            if state not in ready and each.replicas[state]
        ]
        if counts:
            lines.append(f"broker {each.id} has replicas {', '.join(counts)}")
    if not lines:
        return
    if done:
        yield Hazard(
            kind=HazardKind.FINALIZED_TOO_EARLY,
            text="the migration was finalized although brokers or replicas were not ready",
            evidence=tuple(lines),
            way_out=(
                "Restart each broker that is not in KRaft mode in KRaft mode, once all its log"
                " directories are online. A rollback to ZooKeeper is no longer possible."
            ),
        )
        return
    yield Hazard(
        kind=HazardKind.FINALIZE_TOO_EARLY,
        text="the migration must not be finalized yet, but Kafka would accept it",
        evidence=tuple(lines),
        way_out=(
            "Do not finalize before every broker is in KRaft mode and every replica has a directory"
            " that is online. Restart the others in KRaft mode, and replace or restore what failed."
        ),
        is_due=summary.phase is Phase.DUAL_WRITE if is_near is None else is_near,
    )


def controller_ends_migration(
    summary: ClusterSummary, *, finalizes: bool | None
) -> Iterator[Hazard]:
    """Yield a hazard if the next election may end the migration before an operator wants it.

    `finalizes`: as `finalize_is_in_progress` of the execution; None: no runbook is executed, and
    finalizing is next once each broker is in KRaft mode.
    """
    waiting = [each for each in summary.brokers if each.mode is not Mode.KRAFT]
    if not waiting and (summary.phase is Phase.DUAL_WRITE if finalizes is None else finalizes):
        return
    named = ", ".join(map(str, summary.ends_migration))
    if not named:
        return
    yield Hazard(
        kind=HazardKind.CONTROLLER_ENDS_MIGRATION,
        actions=(Action.RESTART, Action.FINALIZE),
        text=(
            f"controller {named} was restarted without the migration enabled: it finalizes the"
            " migration as soon as it leads the quorum, and that cannot be undone"
        ),
        evidence=(
            f"registered without zookeeper.metadata.migration.enable: controller {named}",
            *(f"broker {each.id} is in {each.mode} mode" for each in waiting),
        ),
        way_out=(
            f"Restart controller {named} with zookeeper.metadata.migration.enable=true and"
            " zookeeper.connect. Until then, stop or restart no other controller: the next election"
            " may finalize the migration."
        ),
    )


def after_restart_of(controllers: tuple[int, ...], hazard: Hazard) -> Hazard:
    """Return the hazard; no election comes before those controllers have the migration enabled."""
    if not hazard.elects:
        return hazard
    named = ", ".join(map(str, controllers))
    first = (
        f"First restart controller {named} with the migration enabled: the next election may"
        " finalize the migration."
    )
    return replace(hazard, way_out=f"{first} {hazard.way_out}")


def _ready_after(broker: BrokerSummary) -> tuple[ReplicaState, ...]:
    """Return the states of replicas that do not show that the migration was finalized too early.

    After it a directory may fail, and a new replica is `unassigned` until its broker reports it.
    """
    new = () if broker.held else (ReplicaState.UNASSIGNED,)
    return (ReplicaState.ASSIGNED, ReplicaState.OFFLINE, *new)


_SETTLED_MS: Final = 10_000
"""The record of a copy is read within this time after the znode that the copy writes."""


def stale_migration_znode(
    summary: ClusterSummary, zookeeper: ZooKeeperImage, currency: Currency
) -> Iterator[Hazard]:
    """Yield a hazard if `/migration` of an earlier attempt makes a fresh quorum wipe ZooKeeper."""
    found = zookeeper.migration
    if found is None or not found.is_copied:
        return
    offset = skipped_at(zookeeper, summary.phase)
    if offset is not None:
        if summary.wiped is None:
            # The facts of the last writes come later than their offset (with_heartbeat).
            yield _about_to_wipe(summary, found, max(offset, found.offset))
        return
    nothing_copied = (Phase.ZOOKEEPER, Phase.PRE_MIGRATION, Phase.ROLLED_BACK)
    if summary.phase in nothing_copied and _no_quorum_made_it(zookeeper, found, currency):
        yield (
            _about_to_wipe(summary, found, found.offset)
            if _is_found_by_quorum(summary, zookeeper, currency)
            else left_behind(found, f"the metadata log is in phase {summary.phase}")
        )


def _is_found_by_quorum(
    summary: ClusterSummary, zookeeper: ZooKeeperImage, currency: Currency
) -> bool:
    """Return whether a quorum that did not write `/migration` leads the cluster.

    Its takeover was not observed; otherwise `skipped_at` has it.
    """
    holder = zookeeper.controller
    return (
        summary.phase is Phase.PRE_MIGRATION
        and holder is not None
        and holder.is_kraft
        and currency.is_current(DataSource.METADATA_LOG)
    )


def _no_quorum_made_it(
    zookeeper: ZooKeeperImage, found: MigrationZnode, currency: Currency
) -> bool:
    """Return whether it is known that no running quorum made the copy.

    A metadata log without the copy's record proves it, even if its controllers were stopped later,
    but only if it was read to an end that is later than the znode: then the record is missing, not
    late. Otherwise ZooKeeper proves it: a broker in ZooKeeper mode was the last to hold
    /controller.
    """
    held_by = zookeeper.held_by or zookeeper.controller
    ruled_by_broker = held_by is not None and not held_by.is_kraft
    answered_ms = currency.last_ms.get(DataSource.METADATA_LOG)
    has_followed = answered_ms is not None and answered_ms - found.written_ms >= _SETTLED_MS
    return (currency.log_was_read and has_followed) or ruled_by_broker


def left_behind(found: MigrationZnode, whose: str) -> Hazard:
    """Return the hazard of a `/migration` whose copy no running quorum made.

    A quorum that starts with it skips the copy (KRaftMigrationDriver; strimzi#11262). `whose`: why
    the copy belongs to no quorum, for the evidence.
    """
    return Hazard(
        kind=HazardKind.STALE_MIGRATION_ZNODE,
        text=(
            "/migration records a complete copy that no running controller made: a new quorum"
            " would skip the copy and overwrite ZooKeeper with its own empty metadata"
        ),
        evidence=(
            f"/migration: kraft_metadata_offset {found.offset} of controller {found.controller_id}",
            whose,
        ),
        way_out=(
            "Stop all KRaft controllers, and start none before /migration is deleted. If one of"
            " them holds /controller, then delete that znode, which remains when its owner stops."
            " Delete /migration (zookeeper-shell: delete /migration) once a ZooKeeper broker is the"
            " controller."
        ),
        since_ms=found.written_ms,
    )


def _about_to_wipe(summary: ClusterSummary, found: MigrationZnode, offset: int) -> Hazard:
    return Hazard(
        kind=HazardKind.STALE_MIGRATION_ZNODE,
        actions=(Action.MIGRATE, Action.RESTART),
        text=(
            "a quorum has taken over the cluster and skipped the copy: once its metadata log"
            f" passes offset {offset}, it deletes every topic from ZooKeeper"
        ),
        evidence=(
            f"/migration had kraft_metadata_offset {offset} when it took over",
            f"its metadata log is at {summary.metadata_offset}",
        ),
        way_out=(
            "Stop all KRaft controllers now, before their log reaches that offset. Restart no"
            " broker before /controller and /migration are deleted (zookeeper-shell); then restart"
            " the brokers in ZooKeeper mode. Format the controllers again before the next attempt."
        ),
        since_ms=found.written_ms,
    )


def metadata_lost(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield a hazard if another metadata log replaced the only copy of the cluster's metadata."""
    lost = summary.metadata_lost
    if lost is None:
        return
    topics, partitions = count(lost.topics, "topic"), count(lost.partitions, "partition")
    found = f"{count(summary.topics, 'topic')} and {count(summary.partitions, 'partition')}"
    yield Hazard(
        kind=HazardKind.METADATA_LOST,
        text=(
            f"the metadata of {topics} ({partitions}) is gone: the controllers lead an empty or"
            " other metadata log, and brokers that start now rename their logs to -stray"
        ),
        evidence=(
            f"before: {topics} and {partitions}, in phase {lost.phase}",
            f"now, in metadata log number {summary.metadata_log}: {found}",
        ),
        way_out=(
            "Do not start or restart any broker, and stop none: stop the controllers, and format"
            " none of them. Copy __cluster_metadata-0 of every controller and broker: a node that"
            " follows the new log may truncate the old one. Restore the directory of a controller"
            " that has the old log on a majority of them, and start the quorum with these only."
            " Then start `kraftgate run` with an empty `state_dir`: this one refuses the old log."
        ),
        since_ms=lost.at_ms,
    )


def zookeeper_wiped(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield a hazard if topics were deleted from ZooKeeper; their logs are still on the disks."""
    wiped = summary.wiped
    if wiped is None:
        return
    gone = wiped.gone
    yield Hazard(
        kind=HazardKind.ZOOKEEPER_WIPED,
        text=(
            f"KRaft controller {wiped.controller} deleted {gone.topics} topics from ZooKeeper"
            " that it had never copied"
            if gone.topics
            else f"the topics that KRaft controller {wiped.controller} deleted from ZooKeeper are"
            " back, but no ZooKeeper broker is the controller, or /migration is not deleted"
        ),
        evidence=tuple(f"topic {each} is missing from /brokers/topics" for each in gone.named),
        way_out=(
            "Stop all KRaft controllers, and restart no broker: the partitions' logs are still"
            " on the disks, and a broker that starts in migration mode treats them as strays."
            " Restore an earlier copy of ZooKeeper's data directory, delete /controller and"
            " /migration, and only then restart the brokers, in ZooKeeper mode."
        ),
        since_ms=gone.since_ms,
        counted=gone.topics,
    )


def metadata_version(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """Yield a hazard if metadata.version is below 3.7-IV2: then no directory is ever assigned.

    A broker in migration mode registers with its inter.broker.protocol.version as the only
    supported metadata.version: such a quorum rejects it, or it does not even start, so its
    registration never appears.
    """
    level = summary.metadata_version
    if level is None or level >= JBOD_LEVEL:
        return
    counts = [(each.id, len(each.log_dirs)) for each in summary.brokers]
    counts += [(each.id, len(each.log_dirs)) for each in disks.brokers.values()]
    several = sorted({id_ for id_, number in counts if number > 1})
    if not several:
        return
    nothing_copied = summary.phase in (Phase.ZOOKEEPER, Phase.PRE_MIGRATION) and not summary.topics
    yield Hazard(
        kind=HazardKind.METADATA_VERSION,
        text=(
            f"the metadata.version is {name_of(level)}, and directory assignments need"
            f" {JBOD_NAME}: "
            + (
                "brokers with several log directories cannot register, and nothing would be copied"
                if nothing_copied
                else "no replica is ever assigned to a log directory"
            )
        ),
        evidence=(
            f"metadata.version is {name_of(level)}, {JBOD_NAME} or a later one is needed",
            f"brokers with several log directories: {', '.join(map(str, several))}",
        ),
        way_out=(
            "Take the brokers out of migration mode, stop the controllers, move the log.dirs of"
            " each controller away (a directory that is formatted already keeps its version),"
            " format them with the brokers' release (kafka-storage.sh format --release-version"
            " 3.9; 3.8 for Kafka 3.8), and start over. Nothing has been copied yet, and in this"
            " phase kafka-features.sh cannot raise it. A broker with the old quorum's log fails on"
            " the new one."
            if nothing_copied
            else "Raise the metadata.version before you restart more brokers with several"
            " directories: kafka-features.sh --bootstrap-server HOST:PORT upgrade --metadata 3.9"
            " (3.8 for Kafka 3.8)"
        ),
    )


def log_dirs_not_registered(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the brokers whose registration names no log directory, although it has to.

    From 3.7-IV2 a registration has them (KIP-858). Kafka treats an empty list as "all online"
    (DirectoryId.isOnline, the repair of KAFKA-16162), so it notices no failed directory.
    """
    level = summary.metadata_version
    if level is None or level < JBOD_LEVEL:
        return
    for broker in summary.brokers:
        if broker.registered_offset is None or broker.log_dirs:
            continue
        yield Hazard(
            kind=HazardKind.LOG_DIRS_NOT_REGISTERED,
            broker=broker.id,
            text=(
                f"broker {broker.id} is registered without log directories: if one fails, the"
                " controllers do not move its leaders; early releases elect none of its replicas"
                " (KAFKA-16162)"
            ),
            evidence=(
                f"metadata.version is {name_of(level)}: a registration names log directories",
                f"the registration at offset {broker.registered_offset} names none",
            ),
            way_out=(
                "With all its log directories online, restart the broker with the latest 3.9"
                " release: it registers its directories when it starts."
            ),
            since_ms=broker.registered_ms,
        )


def unfenced_early(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the brokers that Kafka unfenced before their directories are known."""
    for broker in summary.brokers:
        early = broker.unfenced_early
        if early is None or not broker.is_unfenced_early:
            continue
        yield Hazard(
            kind=HazardKind.UNFENCED_EARLY,
            broker=broker.id,
            text=(
                f"broker {broker.id} is unfenced although {broker.pending} of its replicas have"
                " no known log directory: if their directory fails now, Kafka does not move"
                " their leaders"
            ),
            evidence=(f"{early.pending} replicas pending when unfenced, {broker.pending} now",),
            way_out="Leave the broker alone until its assignments are complete.",
            since_ms=broker.unfenced_ms,
        )
