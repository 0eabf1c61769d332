"""All hazards of one cluster, most important first."""

from collections.abc import Iterator, Sequence
from typing import Final

from migration.assessment.currency import Currency
from migration.assessment.data_source import DataSource
from migration.assessment.failed_directories import failed_directories
from migration.assessment.hazards import contents, directories, dual_write, jmx, phases
from migration.assessment.hazards.hazard import Hazard, HazardKind, dated
from migration.image.summary import ClusterSummary, UncleanElection
from migration.observed.log_dirs import NAMED_MAX, DisksImage, Loss
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
    log_is_current = currency.is_current(DataSource.METADATA_LOG)
    stuck = tuple(dual_write.stuck(summary, zookeeper, now_ms, currency))
    ends = tuple(phases.controller_ends_migration(summary, finalizes=finalize_is_in_progress))
    found = [
        *_records_lost(disks.losses, summary.unclean),
        *directories.restart_loses_replicas(summary, disks, failed, rolls_back=rolls_back),
        *directories.halted_in_migration(summary, disks, failed, log_is_current=log_is_current),
        *directories.broker_shuts_down(summary, disks, failed, now_ms, rolls_back=rolls_back),
        *directories.replicas_recreated(summary, disks),
        *directories.directory_failed_under_pending(summary),
        *directories.one_directory_left(
            summary,
            disks,
            failed,
            log_is_current=log_is_current,
            rolls_back=rolls_back,
        ),
        *directories.future_replica_stuck(disks),
        *directories.directory_ids(summary, disks),
        *phases.finalize(summary, is_near=finalize_is_near),
        *ends,
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
    if ends:
        found = [phases.after_restart_of(summary.ends_migration, each) for each in found]
    found.sort(key=lambda each: (_RANK[each.kind], each.broker or 0, each.text))
    return tuple(dated(each, currency) for each in found)


def _records_lost(
    losses: tuple[Loss, ...], unclean: tuple[UncleanElection, ...]
) -> Iterator[Hazard]:
    """Yield one hazard for each leader that lost records: each has its own alert and page."""
    lost = [each.broker for each in losses]
    for broker in dict.fromkeys([*lost, *(each.broker for each in unclean)]):
        found = [each for each in losses if each.broker == broker]
        elections = [each for each in unclean if each.broker == broker]
        texts = []
        if found:
            texts = [f"acknowledged records of {_partitions(found, losses)} are lost"]
        if elections:
            what = _partitions(elections, unclean)
            texts.append(f"an unclean election may have lost acknowledged records of {what}")
        times = [*(each.seen_ms for each in found), *(each.at_ms for each in elections)]
        yield Hazard(
            kind=HazardKind.RECORDS_LOST,
            broker=broker,
            text="; ".join(texts),
            evidence=(
                *(
                    f"{each.topic}-{each.partition}: at least offsets {each.now_end} to"
                    f" {each.was_end - 1}"
                    for each in reversed(found)
                ),
                *map(_elected, reversed(elections)),
            ),
            way_out=" ".join([_TRUNCATED] * bool(elections) + [_RECREATED] * bool(found)),
            since_ms=min((each for each in times if each is not None), default=None),
        )


_RECREATED: Final = (
    "Stop producers to these partitions and keep the failed directory: the records may still be in"
    " it. Restore them from there or from a backup. If the log was recreated, offsets before these"
    " may have other records now: compare them with the directory."
)
_TRUNCATED: Final = (
    "Start no broker of the earlier ISR, and let none use a failed directory again, before its logs"
    " of these partitions are copied: it may have the records, and truncates them as a follower."
    " Stop producers to these partitions, and restore the records from the copy or from a backup."
)


def _elected(each: UncleanElection) -> str:
    when = "" if each.at_ms is not None else ", at an unknown time before the metadata snapshot"
    isr = f"the ISR ({each.isr}){when}"
    return f"{each.topic}-{each.partition}: leader {each.broker} was not in {isr}"


def _partitions(
    found: Sequence[Loss | UncleanElection], kept: Sequence[Loss | UncleanElection]
) -> str:
    """Return the number of partitions; `kept`: all that are stored, which may be the latest."""
    number = len({(each.topic, each.partition) for each in found})
    least = "at least " if len(kept) >= NAMED_MAX else ""
    return least + ("one partition" if number == 1 else f"{number} partitions")
