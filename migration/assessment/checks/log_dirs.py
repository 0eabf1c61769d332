"""The brokers' log directories, where the migration of a JBOD cluster can lose data (H1, H2, H3).

A broker that restarts with a failed directory recreates that directory's replicas, empty, in one of
the remaining directories: in migration mode (H1), and in KRaft mode for replicas that were created
in the hybrid phase (H2). Replicas that were created before the migration stay out of the ISR
permanently (H3). With a replication factor of one that is the only copy. Kafka 3.9 neither refuses
this nor reports it.
"""

from collections.abc import Iterator
from typing import Final

from migration.assessment.checks.check import (
    SEE_BROKERS,
    SEE_TOPICS,
    check,
    listed,
    missing_data,
    no_brokers,
    unknowns,
    worse_first,
)
from migration.assessment.checks.topics import partitions
from migration.assessment.failed_directories import danger, last_ones, on_disks
from migration.assessment.finding import Finding, satisfied, skipped, violated, warned
from migration.image.summary import Phase
from migration.observed.log_dirs import STORAGE_ERROR, disks_of
from migration.observed.probed import Broker, Facts, LogDir, TopicPartition, Unknown
from migration.values.evidence import named

_FULL: Final = 0.03
_FILLING: Final = 0.10
_NAMED_MAX: Final = 5
_DANGER: Final = f"these replicas {danger(None, Phase.ZOOKEEPER)}, without an error"


def _known_dirs(facts: Facts) -> Iterator[tuple[Broker, tuple[LogDir, ...]]]:
    for broker in facts.brokers:
        if not isinstance(broker.log_dirs, Unknown):
            yield broker, broker.log_dirs


def _failed(broker: Broker) -> dict[str | None, str]:
    """Return the broker's failed directories, and how each failed."""
    (one,) = disks_of((broker,)).brokers.values()
    return {each.path: each.how for each in on_disks(one)}


def _unknown_dirs(facts: Facts) -> list[str]:
    return unknowns((f"the directories of broker {b.id}", b.log_dirs) for b in facts.brokers)


def hosted(facts: Facts, broker: int) -> dict[TopicPartition, int]:
    """Return the partitions that the metadata assigns to a broker, with their replica counts."""
    return {part.at: len(part.replicas) for part in partitions(facts) if broker in part.replicas}


def unaccounted(facts: Facts, broker: Broker) -> dict[TopicPartition, int]:
    """Return the replicas of a broker that are in none of its readable directories."""
    if isinstance(broker.log_dirs, Unknown):
        return {}
    failed = _failed(broker)
    seen = {at for one in broker.log_dirs if one.path not in failed for at in one.replicas}
    return {at: count for at, count in hosted(facts, broker.id).items() if at not in seen}


@check("log-dirs-online", "Every log directory is online", needs=no_brokers)
def log_dirs_online(facts: Facts) -> Finding:
    """Check that no broker has a directory in error; the evidence has its replicas, if known."""
    bad = [
        _offline(facts, broker, one, failed[one.path])
        for broker, dirs in _known_dirs(facts)
        for failed in (_failed(broker),)
        for one in dirs
        if one.path in failed
    ]
    missing = _unknown_dirs(facts)
    if bad:
        fix = (
            "restart no broker that is named here. Repair its disk and restore the directory;"
            " or, if every replica in it has another one in sync, move those to other brokers"
            " and then remove the directory from log.dirs, still in ZooKeeper mode. Until then"
            f" {_DANGER}"
        )
        return violated("a log directory is offline", *worse_first(bad, missing), fix=fix)
    if missing:
        return missing_data(
            *missing, fix=f"{SEE_BROKERS}; a directory in an unknown state counts as offline"
        )
    count = sum(len(dirs) for _, dirs in _known_dirs(facts))
    return satisfied(f"all {count} log directories of {len(facts.brokers)} brokers are online")


def _offline(facts: Facts, broker: Broker, one: LogDir, state: str) -> str:
    reason = "KAFKA_STORAGE_ERROR" if one.error == STORAGE_ERROR else "Kafka's code"
    lost = unaccounted(facts, broker)
    alone = sorted(at for at, count in lost.items() if count == 1)
    text = f"broker {broker.id}: {one.path} is {state} ({reason} {one.error})"
    if not lost:
        return text
    text += f"; replicas of the broker in no readable directory: {len(lost)}"
    if alone:
        text += f", {len(alone)} of them the only copy: {named(alone, _NAMED_MAX)}"
    return text


@check("replicas-accounted", "Every replica is in a readable directory", needs=no_brokers)
def replicas_accounted(facts: Facts) -> Finding:
    alone: list[str] = []
    others: list[str] = []
    for broker, dirs in _known_dirs(facts):
        failed = _failed(broker)
        offline = [one.path for one in dirs if one.path in failed]
        place = listed(offline) if offline else "in none of its directories"
        for at, count in sorted(unaccounted(facts, broker).items()):
            into = alone if count == 1 else others
            only = ", the only copy" if count == 1 else f", 1 of {count} replicas"
            into.append(f"broker {broker.id}: {at}{only} ({place})")
    missing = _unknown_dirs(facts)
    if alone or others:
        fix = (
            "before any restart, restore the directory with these replicas, or, if other"
            f" replicas are in sync, move the partition: {_DANGER}"
        )
        what = f"replicas in no readable directory: {len(alone) + len(others)}"
        if alone:
            what += f", {len(alone)} of them the only copy of their partition"
        return violated(what, *worse_first(alone + others, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("every replica is in a directory that its broker can read")


@check("one-directory-left", "No broker has only one directory left", needs=no_brokers)
def one_directory_left(facts: Facts) -> Finding:
    bad = []
    for broker, dirs in _known_dirs(facts):
        left = last_ones([one.path for one in dirs], _failed(broker))
        if left is not None:
            kept = left[0] if left else "none"
            bad.append(f"broker {broker.id}: {kept} is left of {len(dirs)} directories")
    missing = _unknown_dirs(facts)
    if bad:
        fix = (
            "restore the other directories first: the broker halts when its last one fails, and"
            " in migration mode it halts when any one fails"
        )
        return violated("a broker has one directory left", *worse_first(bad, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    if all(len(dirs) == 1 for _, dirs in _known_dirs(facts)):
        return skipped("every broker has one directory: this is not a JBOD cluster")
    return satisfied("every broker with several directories has more than one online")


@check("directory-moves", "No replica moves between directories", needs=no_brokers)
def directory_moves(facts: Facts) -> Finding:
    """Check that no replica is moving between directories (KAFKA-16082, 16297, 16365)."""
    moving = [
        f"broker {broker.id}: {at} is moving into {one.path}"
        for broker, dirs in _known_dirs(facts)
        for one in dirs
        for at in sorted(one.futures)
    ]
    missing = _unknown_dirs(facts)
    if moving:
        fix = (
            "wait until kafka-reassign-partitions --verify reports them complete: a move that a"
            " mode change interrupts can leave a future replica that is never promoted"
        )
        return violated(
            "replicas are moving between directories", *worse_first(moving, missing), fix=fix
        )
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    return satisfied("no replica is moving between directories")


@check("disk-space", "Every volume has free space", needs=no_brokers)
def disk_space(facts: Facts) -> Finding:
    """Check that no volume is so full that a directory may fail during the window."""
    full: list[str] = []
    filling: list[str] = []
    missing = _unknown_dirs(facts)
    for broker, dirs in _known_dirs(facts):
        failed = _failed(broker)
        for one in (one for one in dirs if one.path not in failed):
            if not one.total_bytes or one.usable_bytes is None:
                missing.append(f"the space of {one.path} on broker {broker.id}: not reported")
                continue
            free = one.usable_bytes / one.total_bytes
            line = (
                f"broker {broker.id}: {one.path} has {one.usable_bytes / 2**30:.1f} GiB free"
                f" of {one.total_bytes / 2**30:.1f} ({free:.0%})"
            )
            if free < _FILLING:
                (full if free < _FULL else filling).append(line)
    fix = (
        "free space: a directory that runs full fails, which halts a broker in migration mode; the"
        " metadata log, and replicas that catch up after a restart, also need space"
    )
    if full:
        return violated("a volume is full", *worse_first(full + filling, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=SEE_BROKERS)
    if filling:
        return warned("a volume is nearly full", *filling, fix=fix)
    return satisfied(f"every volume has at least {_FILLING:.0%} free")


@check("stray-logs", "No log is in the wrong place", blocks=False, needs=no_brokers)
def stray_logs(facts: Facts) -> Finding:
    """Check that no broker has a log that the metadata does not assign to it (KAFKA-16120)."""
    hidden = _hidden_topics(facts)
    strays = [
        f"broker {broker.id}: {at} in {one.path}"
        for broker, dirs in _known_dirs(facts)
        for placed in (hosted(facts, broker.id),)
        for one in dirs
        for at in sorted(one.replicas - placed.keys())
        if at.topic not in hidden
    ]
    missing = [
        f"brokers have logs of topic {each}, but the topic is not listed. If it still exists, grant"
        " the principal DESCRIBE on all topics"
        for each in sorted(hidden)
    ] + _unknown_dirs(facts)
    if strays:
        fix = (
            "find out why they exist (a topic deleted while the broker was down, an aborted"
            " move) and check that they are not needed: in KRaft mode the broker treats them as"
            " strays and renames their folders to ...-stray"
        )
        return warned(
            "logs on disk that the metadata does not assign to the broker",
            *worse_first(strays, missing),
            fix=fix,
        )
    if missing:
        return missing_data(*missing, fix=SEE_TOPICS if hidden else SEE_BROKERS)
    return satisfied("no broker has a log that is not assigned to it")


def _hidden_topics(facts: Facts) -> set[str]:
    """Return topics that have logs and may exist although the brokers do not list them.

    Brokers omit topics that the principal may not describe, without an error.
    """
    on_disk = {at.topic for _, dirs in _known_dirs(facts) for one in dirs for at in one.replicas}
    if not isinstance(facts.zookeeper, Unknown):
        on_disk &= facts.zookeeper.assignments.keys()
    return on_disk - {part.at.topic for part in partitions(facts)}
