"""All hazards of one cluster, most important first."""

from collections.abc import Iterator
from typing import Final

from migration.assessment.currency import Currency
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
    found = sorted(
        _all(
            summary,
            now_ms,
            currency,
            finalize_is_near,
            finalize_is_in_progress,
            rolls_back=rolls_back,
        ),
        key=lambda each: (_RANK[each.kind], each.broker or 0, each.text),
    )
    return tuple(dated(each, currency) for each in found)


def _all(
    summary: ClusterSummary,
    now_ms: int,
    currency: Currency,
    finalize_is_near: bool | None,
    finalize_is_in_progress: bool | None,
    *,
    rolls_back: bool,
) -> Iterator[Hazard]:
    disks = summary.disks or DisksImage()
    zookeeper = summary.zookeeper or ZooKeeperImage()
    yield from _records_lost(disks.losses)
    failed = failed_directories(summary)
    yield from directories.restart_loses_replicas(summary, disks, failed, rolls_back=rolls_back)
    yield from directories.halted_in_migration(disks, failed)
    yield from directories.broker_shuts_down(summary, disks, failed, now_ms, rolls_back=rolls_back)
    yield from directories.replicas_recreated(summary, disks)
    yield from directories.directory_failed_under_pending(summary)
    yield from directories.one_directory_left(summary, disks, failed, rolls_back=rolls_back)
    yield from directories.future_replica_stuck(disks)
    yield from directories.directory_ids(summary, disks)
    yield from phases.finalize(summary, is_near=finalize_is_near)
    yield from phases.controller_ends_migration(summary, finalizes=finalize_is_in_progress)
    yield from phases.zookeeper_wiped(summary)
    yield from phases.stale_migration_znode(summary, zookeeper, currency)
    yield from phases.metadata_version(summary, disks)
    yield from phases.log_dirs_not_registered(summary)
    stuck = next(dual_write.stuck(summary, zookeeper, now_ms, currency), None)
    if stuck is not None:
        yield stuck
    yield from jmx.assignment_queue_flat(summary, now_ms, currency)
    yield from jmx.contradicts(summary)
    yield from phases.unfenced_early(summary)
    yield from contents.on_disk(summary)
    yield from contents.content_differs(summary, stuck)


def _records_lost(every: tuple[Loss, ...]) -> Iterator[Hazard]:
    """Yield one hazard for each leader that reported losses: each has its own alert and page."""
    for broker in dict.fromkeys(each.broker for each in every):
        yield from _lost_on(broker, tuple(each for each in every if each.broker == broker))


def _lost_on(broker: int | None, losses: tuple[Loss, ...]) -> Iterator[Hazard]:
    lines = [
        f"{each.topic}-{each.partition}: offsets {each.now_end} to {each.was_end - 1}"
        for each in reversed(losses)
    ]
    yield Hazard(
        kind=HazardKind.RECORDS_LOST,
        broker=broker,
        text=f"acknowledged records of {_partitions(losses)} are lost",
        evidence=tuple(lines),
        way_out=(
            "Stop producers to these partitions and keep the failed directory: the records may"
            " still be in it. Restore them from there or from a backup."
        ),
        since_ms=losses[0].seen_ms,
    )


def _partitions(losses: tuple[Loss, ...]) -> str:
    count = len({(each.topic, each.partition) for each in losses})
    return "one partition" if count == 1 else f"{count} partitions"
