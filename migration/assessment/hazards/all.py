"""All hazards of one cluster, most important first."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.failed_directories import failed_directories
from migration.assessment.hazards import contents, directories, dual_write, jmx, phases
from migration.assessment.hazards.hazard import Hazard, HazardKind, dated
from migration.image.summary import ClusterSummary
from migration.observed.log_dirs import DisksImage, Loss
from migration.observed.zookeeper import ZooKeeperImage

_RANK: Final = {kind: rank for rank, kind in enumerate(HazardKind)}


def hazards(
    summary: ClusterSummary,
    now_ms: int,
    currency: Currency,
    *,
    finalize_is_near: bool | None = None,
    finalize_is_in_progress: bool | None = None,
    rolls_back: bool = False,
) -> tuple[Hazard, ...]:
    """Return each hazard in the known data. Unknown data is never treated as safe: see waits.

    Args:
        summary: The known data.
        now_ms: By the wall clock.
        currency: Of the sources; `migration.assessment.hazards.hazard` has the rule.
        finalize_is_near: Whether the runbook is about to finalize; None: no runbook is executed.
        finalize_is_in_progress: Whether it has begun to finalize, as `finalize_is_near`.
        rolls_back: Whether brokers in KRaft mode restart in migration mode next.
    """
    disks = summary.disks or DisksImage()
    zookeeper = summary.zookeeper or ZooKeeperImage()
    failed = failed_directories(summary)
    stuck = tuple(dual_write.stuck(summary, zookeeper, now_ms, currency))
    found = [
        *_records_lost(disks.losses),
        *directories.restart_loses_replicas(summary, disks, failed, rolls_back=rolls_back),
        *directories.halted_in_migration(disks, failed),
        *directories.broker_shuts_down(summary, disks, failed, now_ms, rolls_back=rolls_back),
        *directories.replicas_recreated(summary, disks),
        *directories.directory_failed_under_pending(summary),
        *directories.one_directory_left(
            summary,
            disks,
            failed,
            log_is_current=currency.is_current(DataSource.METADATA_LOG),
            rolls_back=rolls_back,
        ),
        *directories.future_replica_stuck(disks),
        *directories.directory_ids(summary, disks),
        *phases.finalize(summary, is_near=finalize_is_near),
        *phases.controller_ends_migration(summary, finalizes=finalize_is_in_progress),
        *phases.metadata_lost(summary),
        *phases.zookeeper_wiped(summary),
        *phases.stale_migration_znode(summary, zookeeper, currency),
        *phases.metadata_version(summary, disks),
        *phases.log_dirs_not_registered(summary),
        *stuck,
        *jmx.assignment_queue_flat(summary, now_ms, currency),
        *jmx.contradicts(summary),
        *phases.unfenced_early(summary),
        *contents.on_disk(summary),
        *contents.content_differs(summary, next(iter(stuck), None)),
    ]
    found.sort(key=lambda each: (_RANK[each.kind], each.broker or 0, each.text))
    return tuple(dated(each, currency) for each in found)


def _records_lost(every: tuple[Loss, ...]) -> Iterator[Hazard]:
    """Yield one hazard for each leader that reported losses: each has its own alert and page."""
    for broker in dict.fromkeys(each.broker for each in every):
        yield from _lost_on(broker, tuple(each for each in every if each.broker == broker))


def _lost_on(broker: int | None, losses: tuple[Loss, ...]) -> Iterator[Hazard]:
    lines = [
        f"{each.topic}-{each.partition}: at least offsets {each.now_end} to {each.was_end - 1}"
        for each in reversed(losses)
    ]
    yield Hazard(
        kind=HazardKind.RECORDS_LOST,
        broker=broker,
        text=f"acknowledged records of {_partitions(losses)} are lost",
        evidence=tuple(lines),
        way_out=(
            "Stop producers to these partitions and keep the failed directory: the records may"
            " still be in it. Restore them from there or from a backup. If the log was recreated,"
            " offsets before these may have other records now: compare them with the directory."
        ),
        since_ms=losses[0].seen_ms,
    )


def _partitions(losses: tuple[Loss, ...]) -> str:
    count = len({(each.topic, each.partition) for each in losses})
    return "one partition" if count == 1 else f"{count} partitions"
