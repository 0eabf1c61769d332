"""The controller in ZooKeeper, and a /migration that an earlier attempt left."""

from typing import Final

from migration.assessment.checks import quorum as quorum_checks
from migration.assessment.checks.check import (
    SEE_QUORUM,
    SEE_ZOOKEEPER,
    check,
    image_of,
    missing_data,
)
from migration.assessment.finding import Finding, Verdict, satisfied, violated, warned
from migration.assessment.hazards.phases import left_behind
from migration.observed.probed import Facts, Unknown
from migration.observed.znode_codec import MigrationZnode
from migration.observed.zookeeper import ZooKeeperImage

_CLEAR: Final = (
    "stop the controllers, check that no broker needs the old quorum, and delete /migration"
    " (zookeeper-shell: delete /migration) before a new quorum starts"
)
_AWAITED: Final = (
    "start the controllers of that quorum again, with their own disks, and continue with"
    " `kraftgate run`. Start no new quorum on this ZooKeeper: it would skip the copy and wipe"
    " ZooKeeper"
)


@check("migration-znode-stale", "No earlier attempt left a /migration")
def migration_znode_stale(facts: Facts) -> Finding:
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    raw = facts.zookeeper.migration
    if raw is None:
        return satisfied("/migration does not exist")
    image = image_of(facts.zookeeper)
    if image.migration is None:
        fix = (
            "the controllers' migration driver hangs on such content (KAFKA-19480; the null one"
            f" comes from zookeeper-security-migration): {_CLEAR}"
        )
        return violated(
            "/migration has content that Kafka does not write",
            f"/migration: {_shown(raw)}",
            fix=fix,
        )
    if not image.migration.is_copied:
        offset = image.migration.offset
        return satisfied(f"/migration exists and records no copy (offset {offset})")
    return _copied(facts, image, image.migration)


def _copied(facts: Facts, image: ZooKeeperImage, found: MigrationZnode) -> Finding:
    evidence = [
        f"/migration: kraft_metadata_offset {found.offset}, by controller {found.controller_id}"
    ]
    quorum, holder = facts.quorum, image.controller
    if holder is None or not holder.is_kraft:
        return _left_behind(found, "a broker holds /controller, so no quorum leads this cluster")
    if quorum is None and quorum_checks.quorum_reachable.judge(facts).verdict is Verdict.UNKNOWN:
        return missing_data("the quorum that leads", fix=SEE_QUORUM)
    if quorum is None:
        does = "leads" if facts.answering else "answers"
        evidence.append(f"/controller: KRaft controller {holder.id}")
        evidence.append(f"none of the configured controllers {does}")
        return violated(
            "a migration is in progress, and its quorum does not answer", *evidence, fix=_AWAITED
        )
    if quorum.high_watermark is None:
        # A majority has not fetched in the new epoch yet: the log may end after any offset.
        fix = "run preflight again in a moment; if this remains, start a majority of the voters"
        return missing_data("the end of the quorum's log", fix=fix)
    if quorum.high_watermark < found.offset or found.controller_id not in quorum.voters:
        voters = ", ".join(map(str, quorum.voters))
        whose = f"the running quorum's log ends at {quorum.high_watermark}, voters {voters}"
        return _left_behind(found, whose)
    evidence.append(f"the quorum's log ends at {quorum.high_watermark}")
    return warned(
        "the copy was made by the running quorum",
        *evidence,
        fix="continue with `kraftgate run`; do not replace that quorum",
    )


def _left_behind(found: MigrationZnode, whose: str) -> Finding:
    hazard = left_behind(found, whose)
    return violated(
        hazard.text, *hazard.evidence, counted=hazard.evidence_total, fix=hazard.way_out
    )


@check("controller-elected", "ZooKeeper has a controller")
def controller_elected(facts: Facts) -> Finding:
    """Check that a broker is ZooKeeper's controller; read /controller and /controller_epoch."""
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    image = image_of(facts.zookeeper)
    holder, epoch = image.controller, image.controller_epoch
    if holder is None:
        shown = [f"/controller: {_shown(facts.zookeeper.controller)}"]
        return violated(
            "there is no readable /controller",
            *shown,
            fix="check that the brokers run and are connected to ZooKeeper",
        )
    if not epoch:
        return violated(
            "there is no controller epoch",
            f"/controller_epoch: {_shown(facts.zookeeper.controller_epoch)}",
            fix="the takeover checks this znode: find out which client wrote it",
        )
    if holder.is_kraft:
        lines = [f"/controller: KRaft controller {holder.id}, epoch {epoch}"]
        fix = "continue with `kraftgate run`: the KRaft controllers have already taken over"
        return warned("the migration has begun", *lines, fix=fix)
    if holder.id not in facts.zookeeper.broker_ids:
        return violated(
            "the controller is a dead broker",
            f"/controller names broker {holder.id}, which is not in /brokers/ids",
            fix="wait for an election, or find out why there is none",
        )
    return satisfied(f"broker {holder.id}, controller epoch {epoch}")


def _shown(raw: bytes | None) -> str:
    if raw is None:
        return "there is none"
    return f"{raw[:60]!r}" + (f" and {len(raw) - 60} bytes more" if len(raw) > 60 else "")
