"""Topics and partitions: the required state before brokers are restarted one by one."""

from migration.assessment.checks.check import (
    SEE_BROKERS,
    SEE_ZOOKEEPER,
    check,
    listed,
    missing_data,
    no_brokers,
    worse_first,
)
from migration.assessment.finding import Finding, satisfied, violated, warned
from migration.observed.probed import Facts, Partition, Topics, Unknown
from migration.observed.znode_codec import reassigning_of
from migration.values.foreign import Unreadable


def partitions(facts: Facts) -> tuple[Partition, ...]:
    """Return the partitions that the brokers list; none while their answer is unknown."""
    return facts.topics.partitions if isinstance(facts.topics, Topics) else ()


@check("topics-visible", "Every topic is visible to Kraftgate", needs=no_brokers)
def topics_visible(facts: Facts) -> Finding:
    """Check that the brokers return each topic that ZooKeeper has.

    A broker omits topics that the principal may not describe, without an error: the checks of
    partitions would then cover only a part of them.
    """
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    seen = {part.at.topic for part in partitions(facts)}
    hidden = sorted(facts.zookeeper.assignments.keys() - seen - set(facts.zookeeper.deletions))
    if hidden:
        fix = (
            "grant the principal DESCRIBE on all topics (kafka-acls --topic '*'): topics that it"
            " cannot describe are not checked. A topic that was just created or deleted is"
            " reported here, too"
        )
        return violated(
            f"topics in ZooKeeper that the brokers do not return: {len(hidden)}", *hidden, fix=fix
        )
    return satisfied(f"all {len(seen)} topics are visible")


@check("partition-leaders", "Every partition has a leader", needs=no_brokers)
def leaders(facts: Facts) -> Finding:
    bad = [
        f"{part.at} has no leader; its replicas: {listed(part.replicas)}"
        for part in partitions(facts)
        if part.leader is None
    ]
    if bad:
        fix = (
            "bring the replicas' brokers and directories back: nothing can be read from or written"
            " to these partitions, and a migration does not fix that"
        )
        return violated(f"partitions without a leader: {len(bad)}", *bad, fix=fix)
    return satisfied(f"all {len(partitions(facts))} partitions have a leader")


@check("under-replicated", "Every replica is in sync", needs=no_brokers)
def under_replicated(facts: Facts) -> Finding:
    """Check that each replica is in sync: the restarts remove one broker at a time from the ISR."""
    bad = [
        f"{part.at}: in sync {listed(part.isr) or 'none'} of {listed(part.replicas)}"
        for part in partitions(facts)
        if set(part.isr) < set(part.replicas)
    ]
    if bad:
        fix = (
            "wait for the replicas to catch up, or restore their brokers and directories; the"
            " migration restarts every broker twice, and each restart removes one more replica"
            " from the ISR"
        )
        return violated(f"under-replicated partitions: {len(bad)}", *bad, fix=fix)
    return satisfied(f"all replicas of {len(partitions(facts))} partitions are in sync")


@check("open-reassignments", "No partition is being reassigned")
def open_reassignments(facts: Facts) -> Finding:
    in_zookeeper, zookeeper_missing = _reassigned_in_zookeeper(facts)
    moving = list(in_zookeeper)
    missing = list(zookeeper_missing)
    if isinstance(facts.topics, Unknown):
        missing.append(facts.topics.why)
    elif isinstance(facts.topics.reassignments, Unknown):
        missing.append(facts.topics.reassignments.why)
    else:
        moving += facts.topics.reassignments
    if moving:
        fix = (
            "wait for them (kafka-reassign-partitions --verify) or cancel them (--cancel), and"
            " stop the tool that starts them, such as Cruise Control, during the window"
        )
        return violated("partitions are being reassigned", *worse_first(moving, missing), fix=fix)
    if missing:
        return missing_data(*missing, fix=f"{SEE_BROKERS}; {SEE_ZOOKEEPER}")
    return satisfied("no partition is being reassigned")


def _reassigned_in_zookeeper(facts: Facts) -> tuple[list[str], list[str]]:
    """Read /admin/reassign_partitions; return what is moving, and what is unknown."""
    if isinstance(facts.zookeeper, Unknown):
        return [], [facts.zookeeper.why]
    raw = facts.zookeeper.reassign_partitions
    if raw is None:
        return [], []
    try:
        found = [
            f"{one['topic']}-{one['partition']} in /admin/reassign_partitions"
            for one in reassigning_of(raw)
        ]
    except (Unreadable, KeyError, TypeError):
        line = (
            f"/admin/reassign_partitions exists and cannot be parsed ({len(raw)} bytes): no"
            " controller can end it, so delete the znode (zookeeper-shell) if no tool writes it now"
        )
        return [line], []
    return found or ["/admin/reassign_partitions exists and names no partition"], []


@check("topic-deletions-pending", "No topic waits for deletion")
def topic_deletions_pending(facts: Facts) -> Finding:
    """Check that no topic waits for deletion: the copy omits such topics."""
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    pending = facts.zookeeper.deletions
    if pending:
        fix = (
            "before the controllers take over, let the deletions complete: restore the brokers and"
            " directories with replicas of these topics, and check that delete.topic.enable is not"
            " false. The copy skips such topics, and their logs remain as strays"
        )
        found = [f"/admin/delete_topics/{topic}" for topic in pending]
        return violated(f"topics that wait for deletion: {len(pending)}", *found, fix=fix)
    return satisfied("no topic waits for deletion")


@check(
    "replication-factor-one", "No partition has a single replica", blocks=False, needs=no_brokers
)
def replication_factor_one(facts: Facts) -> Finding:
    """Check that no partition has one replica: offline in each restart, lost with its disk."""
    counts: dict[str, int] = {}
    for part in partitions(facts):
        if len(part.replicas) == 1:
            counts[part.at.topic] = counts.get(part.at.topic, 0) + 1
    if counts:
        found = [f"{topic}: {count} of its partitions" for topic, count in sorted(counts.items())]
        fix = (
            "add a replica (kafka-reassign-partitions) before the window, or accept that these"
            " partitions are offline during every restart of their broker, and lost if their"
            " directory fails before a restart (hazards H1, H2, H3)"
        )
        return warned(f"partitions with a single replica: {sum(counts.values())}", *found, fix=fix)
    return satisfied("every partition has more than one replica")


@check("min-insync-replicas", "Producers can continue while a broker restarts", blocks=False)
def min_insync_replicas(facts: Facts) -> Finding:
    """Check that a broker's restart does not block producers with acks=all."""
    if isinstance(facts.topics, Unknown):
        return missing_data(facts.topics.why, fix=SEE_BROKERS)
    known = facts.topics.min_isr
    if isinstance(known, Unknown):
        return missing_data(known.why, fix=SEE_BROKERS)
    tight: dict[str, tuple[int, int]] = {}
    for part in facts.topics.partitions:
        wanted, count = known.get(part.at.topic), len(part.replicas)
        if wanted is not None and count > 1 and count <= wanted:
            tight[part.at.topic] = (wanted, count)
    if tight:
        found = [
            f"{topic}: min.insync.replicas {wanted} of {count} replicas"
            for topic, (wanted, count) in sorted(tight.items())
        ]
        fix = (
            "lower min.insync.replicas for the window or add a replica: with one broker down"
            " requests of producers with acks=all are rejected (NOT_ENOUGH_REPLICAS)"
        )
        return warned(
            f"topics that accept no records during each restart: {len(tight)}", *found, fix=fix
        )
    return satisfied("every topic keeps enough replicas in sync while one broker restarts")


@check("notifications-pending", "No directory notification is unread", blocks=False)
def notifications_pending(facts: Facts) -> Finding:
    """Check that no log directory notification is pending: the controller reads each at once."""
    if isinstance(facts.zookeeper, Unknown):
        return missing_data(facts.zookeeper.why, fix=SEE_ZOOKEEPER)
    found = [f"/log_dir_event_notification/{name}" for name in facts.zookeeper.notifications]
    if found:
        fix = (
            "run preflight again in a moment. If they remain, the controller does not work:"
            " check its log. After the takeover no controller reads them, and a failed directory"
            " is not noticed"
        )
        return warned("log directory notifications are unread", *found, fix=fix)
    return satisfied("no log directory notification is unread")
