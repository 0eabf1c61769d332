"""The kinds of events: stored names, and the words of reports and of the manual."""

from enum import StrEnum, auto
from typing import Literal, Self, TypeAlias

Weight: TypeAlias = Literal["bad", "notable", "plain"]
"""How much an event matters to a reader of the report."""


class WeightedKind(StrEnum):
    """A kind of event or entry: how much it matters, and a sentence.

    The member's name in lower case is stored and public.
    """

    weight: Weight
    sentence: str

    def __new__(cls, value: str, weight: Weight = "notable", sentence: str = "") -> Self:
        """Make a member whose value is `value`."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.weight = weight
        kind.sentence = sentence
        return kind


def bad(sentence: str) -> tuple[auto, Weight, str]:
    return auto(), "bad", sentence


def notable(sentence: str) -> tuple[auto, Weight, str]:
    return auto(), "notable", sentence


def plain(sentence: str) -> tuple[auto, Weight, str]:
    return auto(), "plain", sentence


class EventKind(WeightedKind):
    """What can happen.

    Words in braces are fields of the event, or derived from them
    (`orchestrator.output.event_text`).
    """

    # The metadata log
    PHASE_CHANGED = notable("the phase is {now}, after {was}")
    METADATA_LOG_RESTARTED = notable(
        "another metadata log begins, number {log}; the previous one ended at offset "
        "{was_offset} in phase {was_phase}"
    )
    SNAPSHOT_LOADED = bad("a snapshot was read in place of records")
    CONTROLLER_ELECTED = notable("controller {controller} leads the quorum")
    CONTROLLER_REGISTERED = plain(
        "controller {controller} registered, zookeeper.metadata.migration.enable: "
        "{zk_migration_ready}"
    )
    METADATA_VERSION = notable("metadata.version is {version}")
    TRANSACTION_OPENED = plain("a transaction begins: {name}")
    TRANSACTION_ENDED = plain("the transaction is committed")
    TRANSACTION_ABORTED = bad("the transaction is aborted, {dropped} records dropped: {reason}")
    UNKNOWN_RECORD = bad("a record of an unknown type (api key {api_key})")
    RECORD_CONTRADICTS = bad("a record contradicts what is known: {reason}")
    BROKER_REGISTERED = notable(
        "broker {broker} registered in {mode} mode, with {directories} log directories and "
        "{pending} replicas without a known one"
    )
    BROKER_AMENDED = plain("broker {broker} updated its registration")
    BROKER_HELD = notable("broker {broker} is held: {pending} replicas have no known directory")
    ASSIGNMENTS_COMPLETE = notable(
        "broker {broker} is complete: every replica has a directory{after}"
    )
    BROKER_UNFENCED = notable("Kafka lets broker {broker} serve (unfenced)")
    BROKER_UNFENCED_EARLY = bad(
        "broker {broker} serves while {pending} of its replicas have no known directory "
        "(unfenced early)"
    )
    BROKER_FENCED = notable("Kafka does not let broker {broker} serve (fenced)")
    BROKER_CONTROLLED_SHUTDOWN = notable("broker {broker} begins a controlled shutdown")
    BROKER_UNREGISTERED = notable("broker {broker} is unregistered")
    LOG_DIRS_LOST = bad(
        "broker {broker} registers fewer log directories: {lost} fewer, {left} left"
    )
    LOG_DIRS_ADDED = notable("broker {broker} registers more log directories: {added} more")
    UNCLEAN_ELECTION = bad(
        "broker {leader} leads {topic}-{partition} by an unclean election: it was not in the ISR"
        " ({isr}), so acknowledged records may be lost"
    )
    TOPIC_CREATED = plain("topic {topic} is in the metadata log")
    TOPIC_DELETED = plain("topic {topic} is deleted in the metadata log")
    # ZooKeeper
    ZOOKEEPER_SEEN = plain("ZooKeeper is read from {server}")
    ZOOKEEPER_BLIND = bad("ZooKeeper cannot be read: {reason}")
    ZOOKEEPER_SEEN_AGAIN = notable("ZooKeeper can be read again, after {blind}")
    ZK_CONTROLLER_CHANGED = notable("{holder} {controller} holds /controller")
    ZK_CONTROLLER_GONE = notable("/controller is deleted; {was} held it")
    ZK_BROKER_APPEARED = notable("broker {broker} is in /brokers/ids")
    ZK_BROKER_GONE = notable("broker {broker} is not in /brokers/ids")
    MIGRATION_ZNODE_FOUND = notable("/migration exists, with metadata offset {metadata_offset}")
    MIGRATION_ZNODE_DELETED = notable(
        "/migration is deleted; it had metadata offset {metadata_offset}"
    )
    ZOOKEEPER_COPIED = notable(
        "ZooKeeper's content is copied, up to metadata offset {metadata_offset}"
    )
    COPY_SKIPPED = bad(
        "controller {controller} skipped the copy: /migration had metadata offset {metadata_offset}"
    )
    ZOOKEEPER_WIPED = bad(
        "controller {controller} deletes ZooKeeper's topics, which it never copied"
    )
    ZNODE_UNREADABLE = bad("{path} cannot be parsed: {reason}")
    FACT_QUARANTINED = bad("a fact is left out ({subject}): {reason}")
    NOTIFICATIONS_MISSED = bad(
        "{count} notifications of failed directories were deleted before Kraftgate read them"
    )
    LOG_DIR_FAILURE_NOTIFIED = bad("broker {broker} reports a failed log directory")
    REASSIGNMENT_REQUESTED = notable("a reassignment of {partitions} partitions is requested")
    TOPIC_DELETION_REQUESTED = plain("the deletion of topic {topic} is requested")
    ZK_TOPICS_FOUND = plain("ZooKeeper has {topics} topics with {partitions} partitions")
    ZK_TOPIC_APPEARED = plain("topic {topic} is in ZooKeeper, with {partitions} partitions")
    ZK_TOPIC_VANISHED = plain("topic {topic} is deleted in ZooKeeper")
    ZK_TOPIC_REASSIGNED = plain("topic {topic} is reassigned in ZooKeeper: {moved} partitions move")
    ZK_CONFIG_CHANGED = plain("settings of topic {topic} change in ZooKeeper")
    ZK_CONFIG_GONE = plain("settings of topic {topic} are deleted in ZooKeeper")
    ZK_PARTITION_STATES_CHANGED = plain(
        "{changes} leaders and ISRs of {topics} topics are written in ZooKeeper"
    )
    ZOOKEEPER_DIFFERS = bad("ZooKeeper and the metadata log differ in {what} of {subject}")
    DIFFERENCES_NOT_TOLD = bad("{count} more differences have no event of their own")
    DIFFERENCES_OVER = notable("no difference is left")
    ZNODE_NOT_COMPARED = plain("{path} is left out of the comparison: {reason}")
    ZNODES_COMPARED_AGAIN = plain("the comparison is complete again")
    # Log directories
    LOG_DIR_IDENTIFIED = plain("{path} of broker {broker} is directory {directory}")
    DISKS_UNREACHABLE = notable("broker {broker} does not describe its log directories: {reason}")
    DISKS_ANSWER_AGAIN = notable(
        "broker {broker} describes its log directories again, after {silent}"
    )
    LOG_DIR_APPEARED = notable("broker {broker} has another log directory: {path}")
    LOG_DIR_VANISHED = notable("broker {broker} no longer reports {path}")
    LOG_DIR_OFFLINE = bad("{path} of broker {broker} cannot be used: {reason}")
    LOG_DIR_ONLINE = notable("{path} of broker {broker} can be used again")
    REPLICAS_CUT_OFF = bad(
        "{replicas} replicas in {path} of broker {broker} cannot be reached, {sole} of them "
        "the only one"
    )
    REPLICAS_GIVEN_UP = bad(
        "broker {broker} created the replicas of {path} again, empty, in its other directories"
    )
    REPLICAS_NOT_BACK = bad(
        "broker {broker} uses {path} again, without some of the replicas that were in it"
    )
    REPLICAS_ELSEWHERE = notable(
        "broker {broker} has the replicas that were in {path} in other directories, complete"
    )
    REPLICAS_NOT_HOSTED = notable(
        "broker {broker} no longer hosts the replicas that were in {path}"
    )
    REPLICAS_REACHABLE_AGAIN = notable("the directory {path} of broker {broker} can be read again")
    RECORDS_LOST = bad(
        "acknowledged records of {topic}-{partition} are gone: at least offsets"
        " {first_lost_offset} to {last_lost_offset}"
    )
    REPLICA_NOT_ON_DISK = bad("{topic}-{partition} is in no directory of broker {broker}")
    REPLICA_NOT_IN_METADATA = notable(
        "{topic}-{partition} is in {path} of broker {broker}, but not in the metadata"
    )
    REPLICA_MISPLACED = bad(
        "{topic}-{partition} is in {path} of broker {broker}; the metadata log says otherwise"
    )
    FUTURE_REPLICA_NOT_PROMOTED = notable(
        "the move of {topic}-{partition} on broker {broker} does not end"
    )
    # JMX
    JMX_UNREACHABLE = plain("the JMX numbers of node {node} cannot be read: {reason}")
    JMX_ANSWERS_AGAIN = plain("the JMX numbers of node {node} can be read again, after {silent}")
    JMX_CHANGED = plain("{name} of node {node} reads {now}, after {was}")
    JMX_CONTRADICTS = bad("{name} of node {node} reads {reads}, where {expected} is expected")
    JMX_AGREES_AGAIN = notable("{name} of node {node} agrees again")
    ASSIGNMENTS_QUEUED = plain("broker {broker} has {queued} assignments to send")
    ASSIGNMENT_QUEUE_EMPTY = plain("broker {broker} has no assignment left to send, after {full}")
