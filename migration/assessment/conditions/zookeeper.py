"""Conditions on ZooKeeper: its connection, its controller, `/migration`."""

from typing import Final

from migration.assessment.conditions.authority import not_known, why_not_read, zookeeper_of
from migration.assessment.conditions.kind import kind, one_of
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, satisfied, unknown, violated, waiting
from migration.assessment.hazards.dual_write import silence, unwritable, writing_not_known
from migration.image.known_ids import ids
from migration.image.summary import Phase
from migration.observed.znodes import CONTROLLER, MIGRATION
from migration.observed.zookeeper import BEACON_STALE_MS, ZooKeeperImage
from migration.values.durations import duration_text
from migration.values.timestamps import utc_text

_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_DISKS: Final = DataSource.LOG_DIRS


def _seen(view: View, path: str | None = None) -> ZooKeeperImage | Finding:
    """Return ZooKeeper's current image, or the answer why there is none."""
    seen = zookeeper_of(view)
    if seen is None:
        return not_known(view, _ZOOKEEPER) or unknown("ZooKeeper: no data yet")
    if path is not None and (why := why_not_read(seen, path)) is not None:
        return unknown(why)
    return seen


@kind(
    "Kraftgate sees every change in ZooKeeper: ZooKeeper is current, no limit applies"
    " (`limits` in `status`), and after a missed log directory notification every broker has"
    " described its log directories.",
    may_use=frozenset({_ZOOKEEPER, _DISKS}),
)
def zookeeper_seen(view: View) -> Finding:
    seen = _seen(view)
    if isinstance(seen, Finding):
        return seen
    limits = view.status(_ZOOKEEPER).limits
    if limits:
        return unknown("not every change of ZooKeeper is observed", *limits)
    if (stale := _missed(view, seen)) is not None:
        return stale
    return satisfied("every change of ZooKeeper is observed", f"by {seen.server}")


def _missed(view: View, seen: ZooKeeperImage) -> Finding | None:
    """Return a finding if a notification was missed, with the brokers that may have written it."""
    if seen.missed_ms is None:
        return None
    reason = (
        "a log directory notification was deleted before it was read, at"
        f" {utc_text(seen.missed_ms)}"
    )
    if (stale := not_known(view, _DISKS)) is not None:
        return unknown(f"{reason}; {stale.reason}")
    for each in view.failed:
        if each.broker is None:
            return unknown(f"{reason}; log directories not described since: {ids(each.among)}")
    return None


@kind(
    "A KRaft controller (kraft), or a broker in ZooKeeper mode (zookeeper), holds /controller.",
    may_use=frozenset({_ZOOKEEPER}),
    parameters=(one_of("kraft", "zookeeper"),),
)
def zk_controller(view: View, wanted: str) -> Finding:
    seen = _seen(view, CONTROLLER)
    if isinstance(seen, Finding):
        return seen
    found = seen.controller
    if found is None:
        return waiting("/controller does not exist: the cluster has no controller")
    now = "kraft" if found.is_kraft else "zookeeper"
    who = f"KRaft controller {found.id}" if found.is_kraft else f"broker {found.id}"
    epoch = f", of KRaft epoch {found.kraft_epoch}" if found.is_kraft else ""
    evidence = f"/controller: broker id {found.id}{epoch}"
    reason = f"{who} holds /controller"
    return satisfied(reason, evidence) if now == wanted else waiting(reason, evidence)


@kind("The znode /migration does not exist.", may_use=frozenset({_ZOOKEEPER}))
def no_migration_znode(view: View) -> Finding:
    seen = _seen(view)
    if isinstance(seen, Finding):
        return seen
    if MIGRATION in seen.unreadable:
        return waiting(f"/migration exists and cannot be read: {seen.unreadable[MIGRATION]}")
    found = seen.migration
    if found is None:
        return satisfied("/migration does not exist")
    return waiting(
        "/migration exists",
        f"metadata offset {found.offset} of controller {found.controller_id}",
    )


@kind(
    "In hybrid or dual-write, ZooKeeper was written within the last 30 s, or had all records of"
    " the metadata log that are older; and no other client changed the znodes that the"
    " controller's writes depend on.",
    requires=(_LOG,),
    may_use=frozenset({_ZOOKEEPER}),
)
def dual_write_alive(view: View) -> Finding:
    seen = _seen(view, MIGRATION)
    if isinstance(seen, Finding):
        return seen
    phase = view.summary.phase
    if phase not in (Phase.HYBRID, Phase.DUAL_WRITE):
        reason = f"the phase is {phase}: ZooKeeper is not written"
        over = phase in (Phase.FINALIZED, Phase.ROLLED_BACK, Phase.KRAFT)
        return violated(reason) if over else waiting(reason)
    if (stop := unwritable(seen, view.now_ms)) is not None:
        return violated(stop.text, *stop.evidence)
    found = seen.migration
    if found is None:
        return violated(f"the phase is {phase}, and /migration does not exist")
    evidence = f"/migration: metadata offset {found.offset} of controller {found.controller_id}"
    log = view.status(_LOG)
    if (why := writing_not_known(seen, view.now_ms, log)) is not None:
        return unknown(why, evidence)
    if silence(seen, view.now_ms, log) is not None:
        limit = duration_text(BEACON_STALE_MS)
        return violated(f"ZooKeeper has not been written for more than {limit}", evidence)
    return satisfied("the KRaft controller writes to ZooKeeper", evidence)
