"""Conditions on the migration: phase, metadata offset, metadata.version, the copy."""

from collections.abc import Callable
from typing import Final

from migration.assessment.conditions.authority import (
    is_log_past,
    is_zookeeper_authoritative,
    not_known,
    zookeeper_of,
)
from migration.assessment.conditions.kind import LEVEL, OFFSET, kind, one_of
from migration.assessment.conditions.view import View
from migration.assessment.data_source import DataSource
from migration.assessment.finding import Finding, satisfied, violated, waiting
from migration.image.summary import WAY, Phase
from migration.metadata.versions import name_of

_LOG: Final = DataSource.METADATA_LOG
_ZOOKEEPER: Final = DataSource.ZOOKEEPER
_TWO_WAY: Final = (Phase.HYBRID, Phase.DUAL_WRITE)
PHASE: Final = one_of(*map(str, Phase), name="PHASE")


def _not_seen(view: View, wanted: Phase) -> Finding | None:
    if wanted is not Phase.ROLLED_BACK:
        stale = not_known(view, _LOG)
        if wanted is Phase.PRE_MIGRATION and is_log_past(view):
            if stale is not None:
                return waiting("ZooKeeper shows that there is no KRaft controller")
            if view.summary.phase is Phase.PRE_MIGRATION:
                return waiting(
                    "the controllers are in pre-migration, and ZooKeeper has no /migration: check"
                    " that their zookeeper.connect has the brokers' ensemble and chroot"
                )
        return stale
    # Only ZooKeeper can show this phase, and the log's controllers may be gone by then.
    if view.summary.phase is Phase.ROLLED_BACK and is_zookeeper_authoritative(view):
        return None
    return not_known(view, _LOG, _ZOOKEEPER)


@kind(
    "The migration has reached this phase, or passed it.",
    may_use=frozenset({_LOG, _ZOOKEEPER}),
    parameters=(PHASE,),
)
def phase(view: View, text: str) -> Finding:
    return _reached(view, Phase(text), satisfied)


@kind(
    "The migration is in this phase now.",
    may_use=frozenset({_LOG, _ZOOKEEPER}),
    parameters=(PHASE,),
)
def phase_is(view: View, text: str) -> Finding:
    return _reached(view, Phase(text), violated)


def _reached(view: View, wanted: Phase, if_passed: Callable[[str], Finding]) -> Finding:
    now = view.summary.phase
    if (stale := _not_seen(view, wanted)) is not None:
        return stale
    if wanted in WAY and now in WAY and WAY.index(now) > WAY.index(wanted):
        return if_passed(f"the phase is {now}, which comes after {wanted}")
    return _is_or_will_be(wanted, now)


def _is_or_will_be(wanted: Phase, now: Phase) -> Finding:
    reason = f"the phase is {now}"
    if wanted is now:
        return satisfied(reason)
    if wanted is Phase.ROLLED_BACK and now is Phase.FINALIZED:
        return violated(f"{reason}: it cannot be rolled back")
    if wanted is Phase.KRAFT and now is not Phase.ZOOKEEPER:
        return violated(f"{reason}: this cluster had a ZooKeeper")
    if now in WAY:
        return waiting(reason)
    if now is not Phase.ROLLED_BACK:
        return violated(f"{reason}: it does not migrate")
    if wanted is not Phase.PRE_MIGRATION:
        return violated(f"{reason}: the next attempt has not begun")
    # New controllers begin the next attempt, as they began the first one.
    return waiting(
        f"{reason}, and the controllers have the metadata of that attempt: stop them, delete"
        " /migration, and format all of them"
    )


@kind(
    "The cluster is in KRaft mode without ZooKeeper: finalized, or never migrated.",
    requires=(_LOG,),
)
def kraft_only(view: View) -> Finding:
    phase = view.summary.phase
    reason = f"the phase is {phase}"
    return satisfied(reason) if phase in (Phase.FINALIZED, Phase.KRAFT) else waiting(reason)


@kind(
    "ZooKeeper's content is in the metadata log, as the log and /migration record.",
    requires=(_LOG,),
    may_use=frozenset({_ZOOKEEPER}),
)
def copied(view: View) -> Finding:
    phase = view.summary.phase
    reason = f"the phase is {phase}"
    if phase is Phase.FINALIZED:
        return satisfied(reason)
    if phase not in _TWO_WAY:
        return _is_or_will_be(Phase.HYBRID, phase)
    if (stale := not_known(view, _ZOOKEEPER)) is not None:
        return stale
    seen = zookeeper_of(view)
    znode = None if seen is None else seen.migration
    if znode is None:
        return violated(f"{reason}, and /migration does not exist: ZooKeeper is not written")
    evidence = f"/migration: metadata offset {znode.offset} of controller {znode.controller_id}"
    if znode.offset <= 0:
        return waiting(f"{reason}, and /migration does not record the copy yet", evidence)
    return satisfied(f"{reason}, and /migration records the copy", evidence)


@kind("The metadata log has been read up to this offset.", requires=(_LOG,), parameters=(OFFSET,))
def offset(view: View, wanted: int) -> Finding:
    now = view.summary.metadata_offset
    if now is not None and now >= wanted:
        return satisfied(f"the metadata offset is {now}")
    # It changes all the time: a reason is printed whenever it does.
    return waiting(f"the metadata offset is below {wanted}", f"metadata offset {now}")


@kind(
    "The finalized metadata.version is this one or a later one.",
    requires=(_LOG,),
    parameters=(LEVEL,),
)
def metadata_version(view: View, wanted: int) -> Finding:
    level = view.summary.metadata_version
    if level is None:
        return waiting("the metadata log has no metadata.version yet")
    reason = f"the metadata.version is {name_of(level)}"
    evidence = (f"level {level}, {wanted} is wanted",)
    return satisfied(reason, *evidence) if level >= wanted else waiting(reason, *evidence)
