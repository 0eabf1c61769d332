"""The page of hazards: for each kind, when it is active and what it blocks."""

from collections.abc import Mapping
from typing import Final

from migration.assessment.hazards import HazardKind
from migration.moves.permission import WORSENED
from orchestrator.reference.markdown import code, page, table

HAZARDS: Final[Mapping[HazardKind, str]] = {
    HazardKind.RECORDS_LOST: (
        "A partition's log ends before the offset at which it ended earlier; or an unclean election"
        " gave it a leader that was not in the ISR, so that records may be lost."
    ),
    HazardKind.METADATA_LOST: (
        "In phase `finalized` or `kraft`, another metadata log replaced the one with the topics."
        " It stays until Kraftgate starts with an empty `state_dir`, which it also needs to follow"
        " the old log again."
    ),
    HazardKind.ZOOKEEPER_WIPED: (
        "A quorum that skipped the copy deleted topics from ZooKeeper. Their logs are still on"
        " the disks."
    ),
    HazardKind.REPLICAS_RECREATED: (
        "A broker came back with fewer log directories while replicas had no known directory. Not"
        " if it is known to have refused to create them (H3), or if the missing directories are"
        " known to have had no replica. Or a broker no longer describes a directory, and the only"
        " replica of a partition, which was in it, is in another one, with fewer bytes. It ends"
        " when the broker runs with these directories again."
    ),
    HazardKind.FINALIZED_TOO_EARLY: (
        "The migration was finalized while a broker was not in KRaft mode, or while a replica"
        " had no directory."
    ),
    HazardKind.RESTART_LOSES_REPLICAS: (
        "A log directory is offline or unreadable, and the controller does not know which"
        " replicas are in it (H1, H2, H3)."
    ),
    HazardKind.HALTED_IN_MIGRATION: (
        "A broker in migration mode is down, or does not answer Kraftgate, and its log directories"
        " have not been checked."
    ),
    HazardKind.STALE_MIGRATION_ZNODE: (
        "`/migration` is left from an earlier attempt. A new quorum skips the copy, and deletes"
        " all topics from ZooKeeper once its own log has passed the offset in the znode. Blocks"
        " a restart once such a quorum has taken over."
    ),
    HazardKind.CONTROLLER_ENDS_MIGRATION: (
        "During the migration, a controller was restarted without it: once it leads the quorum, it"
        " finalizes the migration. Not while the runbook finalizes (without a runbook: in dual"
        " write) and all brokers are in KRaft mode."
    ),
    HazardKind.DIRECTORY_FAILED_UNDER_PENDING: (
        "A directory failed while replicas had no known directory. Leaders stay on it."
    ),
    HazardKind.REPLICA_NOT_ON_DISK: "A replica is in no directory of its broker (after H3).",
    HazardKind.CONTENT_DIFFERS: "ZooKeeper and the metadata log differ while both are written.",
    HazardKind.DUAL_WRITE_STUCK: (
        "ZooKeeper was observed for 30 s and was not written; or `/migration` is gone; or"
        " another client wrote `/controller_epoch`."
    ),
    HazardKind.ASSIGNMENT_QUEUE_FLAT: (
        "The controller confirmed none of a broker's assignments for one minute (JMX)."
    ),
    HazardKind.DIRECTORY_IDS: (
        "In log directories that are in use, a `meta.properties` is missing, malformed or another"
        " broker's, or has `version=1` in ZooKeeper mode, or a `directory.id` exists twice, is"
        " reserved or is missing. `kraftgate meta-properties` also checks a new disk before the"
        " broker starts."
    ),
    HazardKind.METADATA_VERSION: (
        "metadata.version is below 3.7-IV2, and brokers have several log directories."
    ),
    HazardKind.BROKER_SHUTS_DOWN: (
        "The controllers have not recorded a failed directory of a broker in KRaft mode, which"
        " shuts down after `log.dir.failure.timeout.ms`. Shown with the time that is left."
    ),
    HazardKind.LOG_DIRS_NOT_REGISTERED: (
        "A broker is registered without log directories at metadata.version 3.7-IV2 or later"
        " (KAFKA-16162)."
    ),
    HazardKind.UNFENCED_EARLY: "Kafka unfenced a held broker.",
    HazardKind.REPLICA_MISPLACED: (
        "A replica is in another directory than the metadata log says. Blocks a restart while the"
        " replica moves and its copy may be behind."
    ),
    HazardKind.REPLICA_NOT_IN_METADATA: "A log directory holds a log that is in no metadata.",
    HazardKind.FUTURE_REPLICA_STUCK: (
        "A move of a replica between log directories does not end: over three polls its lag, or"
        " its size, stays the same, and no other move of the broker goes on; or it has caught"
        " up and is not promoted."
    ),
    HazardKind.ONE_DIRECTORY_LEFT: "One of several log directories of a broker is left.",
    HazardKind.JMX_CONTRADICTS: (
        "Two readings of a JMX number contradict the metadata log or the disks."
    ),
    HazardKind.FINALIZE_TOO_EARLY: (
        "A broker is not in KRaft mode, or was restarted in another mode (it is in `/brokers/ids`),"
        " or a replica has no directory. Shown once the runbook is near finalizing (without a"
        " runbook: in dual write), and with `--before finalize`."
    ),
}
"""When a hazard of each kind is active."""

_INTRODUCTION: Final = """
A hazard is a state in which the next step would lose data, or in which data is already lost. Each
hazard comes with its evidence and the way out. `kraftgate hazards` prints the active hazards and
exits with 5 if one of them blocks a step. See [Hazards](../migration-night.md#hazards).
"""
_NOTES: Final = """
The table is in order of importance. A hazard without sources reports something that already
happened; it does not end when a source becomes stale. H1, H2 and H3 are the three ways in which a
restart loses replicas; see [the runbook](../migration-night.md#why-brokers-are-held). The last
column says why a hazard forbids [moves between log directories](../moves.md) of its broker.
"""


def hazards() -> str:
    rows = [
        (
            code(kind),
            HAZARDS[kind],
            ", ".join(each.value for each in kind.blocks),
            ", ".join(code(str(each)) for each in kind.sources),
            WORSENED[kind] or "",
        )
        for kind in HazardKind
    ]
    header = ("hazard", "active when", "blocks", "sources", "forbids moves")
    return page("Hazards", _INTRODUCTION, table(header, rows), _NOTES)
