"""The kinds of events: stored names, and the words of reports and of the manual."""

import enum
from typing import Literal, Self, TypeAlias

Weight: TypeAlias = Literal["bad", "notable", "plain"]
"""How much an event matters to a reader of the report."""


class WeightedKind(enum.StrEnum):
    """A kind of event or entry: the name that is stored, how much it matters, and a sentence."""

    weight: Weight
    sentence: str

    def __new__(cls, value: str, weight: Weight = "notable", sentence: str = "") -> Self:
        """Make a member whose value is `value`."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.weight = weight
        kind.sentence = sentence
        return kind


class EventKind(WeightedKind):
    """What can happen.

    Words in braces are fields of the event, or derived from them
    (`orchestrator.output.event_text`).
    """

    # The metadata log
    PHASE_CHANGED = "phase_changed", "notable", "the phase is {now}, after {was}"
    METADATA_LOG_RESTARTED = (
        "metadata_log_restarted",
        "notable",
        (
            "another metadata log begins, number {log}; the previous one ended at offset "
            "{was_offset} in phase {was_phase}"
        ),
    )
    SNAPSHOT_LOADED = "snapshot_loaded", "bad", "a snapshot was read in place of records"
    CONTROLLER_ELECTED = "controller_elected", "notable", "controller {controller} leads the quorum"
    CONTROLLER_REGISTERED = (
        "controller_registered",
        "plain",
        (
            "controller {controller} registered, zookeeper.metadata.migration.enable: "
            "{zk_migration_ready}"
        ),
    )
    METADATA_VERSION = "metadata_version", "notable", "metadata.version is {version}"
    TRANSACTION_OPENED = "transaction_opened", "plain", "a transaction begins: {name}"
    TRANSACTION_ENDED = "transaction_ended", "plain", "the transaction is committed"
    TRANSACTION_ABORTED = (
        "transaction_aborted",
        "bad",
        "the transaction is aborted, {dropped} records dropped: {reason}",
    )
    UNKNOWN_RECORD = (
        "unknown_record",
        "bad",
        "a record of an unknown type (api key {api_key})",
    )
    RECORD_CONTRADICTS = "record_contradicts", "bad", "a record contradicts what is known: {reason}"
    BROKER_REGISTERED = (
        "broker_registered",
        "notable",
        (
            "broker {broker} registered in {mode} mode, with {directories} log directories and "
            "{pending} replicas without a known one"
        ),
    )
    BROKER_AMENDED = "broker_amended", "plain", "broker {broker} updated its registration"
    BROKER_HELD = (
        "broker_held",
        "notable",
        "broker {broker} is held: {pending} replicas have no known directory",
    )
    ASSIGNMENTS_COMPLETE = (
        "assignments_complete",
        "notable",
        "broker {broker} is complete: every replica has a directory{after}",
    )
    BROKER_UNFENCED = "broker_unfenced", "notable", "Kafka lets broker {broker} serve (unfenced)"
    BROKER_UNFENCED_EARLY = (
        "broker_unfenced_early",
        "bad",
        (
            "broker {broker} serves while {pending} of its replicas have no known directory "
            "(unfenced early)"
        ),
    )
    BROKER_FENCED = "broker_fenced", "notable", "Kafka does not let broker {broker} serve (fenced)"
    BROKER_CONTROLLED_SHUTDOWN = (
        "broker_controlled_shutdown",
        "notable",
        "broker {broker} begins a controlled shutdown",
    )
    BROKER_UNREGISTERED = (
        "broker_unregistered",
        "notable",
        "broker {broker} is unregistered",
    )
    LOG_DIRS_LOST = (
        "log_dirs_lost",
        "bad",
        "broker {broker} registers fewer log directories: {lost} fewer, {left} left",
    )
    LOG_DIRS_ADDED = (
        "log_dirs_added",
        "notable",
        "broker {broker} registers more log directories: {added} more",
    )
    TOPIC_CREATED = "topic_created", "plain", "topic {topic} is in the metadata log"
    TOPIC_DELETED = "topic_deleted", "plain", "topic {topic} is deleted in the metadata log"
    # ZooKeeper
    ZOOKEEPER_SEEN = "zookeeper_seen", "plain", "ZooKeeper is read from {server}"
    ZOOKEEPER_BLIND = "zookeeper_blind", "bad", "ZooKeeper cannot be read: {reason}"
    ZOOKEEPER_SEEN_AGAIN = (
        "zookeeper_seen_again",
        "notable",
        "ZooKeeper can be read again, after {blind}",
    )
    ZK_CONTROLLER_CHANGED = (
        "zk_controller_changed",
        "notable",
        "{holder} {controller} holds /controller",
    )
    ZK_CONTROLLER_GONE = "zk_controller_gone", "notable", "/controller is deleted; {was} held it"
    ZK_BROKER_APPEARED = "zk_broker_appeared", "notable", "broker {broker} is in /brokers/ids"
    ZK_BROKER_GONE = "zk_broker_gone", "notable", "broker {broker} is not in /brokers/ids"
    MIGRATION_ZNODE_FOUND = (
        "migration_znode_found",
        "notable",
        "/migration exists, with metadata offset {metadata_offset}",
    )
    MIGRATION_ZNODE_DELETED = (
        "migration_znode_deleted",
        "notable",
        "/migration is deleted; it had metadata offset {metadata_offset}",
    )
    ZOOKEEPER_COPIED = (
        "zookeeper_copied",
        "notable",
        "ZooKeeper's content is copied, up to metadata offset {metadata_offset}",
    )
    COPY_SKIPPED = (
        "copy_skipped",
        "bad",
        (
            "controller {controller} skipped the copy: /migration had metadata offset "
            "{metadata_offset}"
        ),
    )
    ZOOKEEPER_WIPED = (
        "zookeeper_wiped",
        "bad",
        "controller {controller} deletes ZooKeeper's topics, which it never copied",
    )
    ZNODE_UNREADABLE = "znode_unreadable", "bad", "{path} cannot be parsed: {reason}"
    FACT_QUARANTINED = "fact_quarantined", "bad", "a fact is left out ({subject}): {reason}"
    NOTIFICATIONS_MISSED = (
        "notifications_missed",
        "bad",
        "{count} notifications of failed directories were deleted before Kraftgate read them",
    )
    LOG_DIR_FAILURE_NOTIFIED = (
        "log_dir_failure_notified",
        "bad",
        "broker {broker} reports a failed log directory",
    )
    REASSIGNMENT_REQUESTED = (
        "reassignment_requested",
        "notable",
        "a reassignment of {partitions} partitions is requested",
    )
    TOPIC_DELETION_REQUESTED = (
        "topic_deletion_requested",
        "plain",
        "the deletion of topic {topic} is requested",
    )
    ZK_TOPICS_FOUND = (
        "zk_topics_found",
        "plain",
        "ZooKeeper has {topics} topics with {partitions} partitions",
    )
    ZK_TOPIC_APPEARED = (
        "zk_topic_appeared",
        "plain",
        "topic {topic} is in ZooKeeper, with {partitions} partitions",
    )
    ZK_TOPIC_VANISHED = "zk_topic_vanished", "plain", "topic {topic} is deleted in ZooKeeper"
    ZK_TOPIC_REASSIGNED = (
        "zk_topic_reassigned",
        "plain",
        "topic {topic} is reassigned in ZooKeeper: {moved} partitions move",
    )
    ZK_CONFIG_CHANGED = (
        "zk_config_changed",
        "plain",
        "settings of topic {topic} change in ZooKeeper",
    )
    ZK_CONFIG_GONE = "zk_config_gone", "plain", "settings of topic {topic} are deleted in ZooKeeper"
    ZK_PARTITION_STATES_CHANGED = (
        "zk_partition_states_changed",
        "plain",
        "{changes} leaders and ISRs of {topics} topics are written in ZooKeeper",
    )
    ZOOKEEPER_DIFFERS = (
        "zookeeper_differs",
        "bad",
        "ZooKeeper and the metadata log differ in {what} of {subject}",
    )
    DIFFERENCES_NOT_TOLD = (
        "differences_not_told",
        "bad",
        "{count} more differences have no event of their own",
    )
    DIFFERENCES_OVER = "differences_over", "notable", "no difference is left"
    ZNODE_NOT_COMPARED = (
        "znode_not_compared",
        "plain",
        "{path} is left out of the comparison: {reason}",
    )
    ZNODES_COMPARED_AGAIN = (
        "znodes_compared_again",
        "plain",
        "the comparison is complete again",
    )
    # Log directories
    LOG_DIR_IDENTIFIED = (
        "log_dir_identified",
        "plain",
        "{path} of broker {broker} is directory {directory}",
    )
    DISKS_UNREACHABLE = (
        "disks_unreachable",
        "notable",
        "broker {broker} does not describe its log directories: {reason}",
    )
    DISKS_ANSWER_AGAIN = (
        "disks_answer_again",
        "notable",
        "broker {broker} describes its log directories again, after {silent}",
    )
    LOG_DIR_APPEARED = (
        "log_dir_appeared",
        "notable",
        "broker {broker} has another log directory: {path}",
    )
    LOG_DIR_VANISHED = (
        "log_dir_vanished",
        "notable",
        "broker {broker} no longer reports {path}",
    )
    LOG_DIR_OFFLINE = "log_dir_offline", "bad", "{path} of broker {broker} cannot be used: {reason}"
    LOG_DIR_ONLINE = "log_dir_online", "notable", "{path} of broker {broker} can be used again"
    REPLICAS_CUT_OFF = (
        "replicas_cut_off",
        "bad",
        (
            "{replicas} replicas in {path} of broker {broker} cannot be reached, {sole} of them "
            "the only one"
        ),
    )
    REPLICAS_GIVEN_UP = (
        "replicas_given_up",
        "bad",
        "broker {broker} created the replicas of {path} again, empty, in its other directories",
    )
    REPLICAS_NOT_BACK = (
        "replicas_not_back",
        "bad",
        "broker {broker} uses {path} again, without some of the replicas that were in it",
    )
    REPLICAS_NOT_HOSTED = (
        "replicas_not_hosted",
        "notable",
        "broker {broker} no longer hosts the replicas that were in {path}",
    )
    REPLICAS_REACHABLE_AGAIN = (
        "replicas_reachable_again",
        "notable",
        "the directory {path} of broker {broker} can be read again",
    )
    RECORDS_LOST = (
        "records_lost",
        "bad",
        (
            "acknowledged records of {topic}-{partition} are gone: offsets {first_lost_offset} to"
            " {last_lost_offset}"
        ),
    )
    REPLICA_NOT_ON_DISK = (
        "replica_not_on_disk",
        "bad",
        "{topic}-{partition} is in no directory of broker {broker}",
    )
    REPLICA_NOT_IN_METADATA = (
        "replica_not_in_metadata",
        "notable",
        "{topic}-{partition} is in {path} of broker {broker}, but not in the metadata",
    )
    REPLICA_MISPLACED = (
        "replica_misplaced",
        "bad",
        ("{topic}-{partition} is in {path} of broker {broker}; the metadata log says otherwise"),
    )
    FUTURE_REPLICA_NOT_PROMOTED = (
        "future_replica_not_promoted",
        "notable",
        "the move of {topic}-{partition} on broker {broker} does not end",
    )
    # JMX
    JMX_UNREACHABLE = (
        "jmx_unreachable",
        "plain",
        "the JMX numbers of node {node} cannot be read: {reason}",
    )
    JMX_ANSWERS_AGAIN = (
        "jmx_answers_again",
        "plain",
        "the JMX numbers of node {node} can be read again, after {silent}",
    )
    JMX_CHANGED = "jmx_changed", "plain", "{name} of node {node} reads {now}, after {was}"
    JMX_CONTRADICTS = (
        "jmx_contradicts",
        "bad",
        "{name} of node {node} reads {reads}, where {expected} is expected",
    )
    JMX_AGREES_AGAIN = "jmx_agrees_again", "notable", "{name} of node {node} agrees again"
    ASSIGNMENTS_QUEUED = (
        "assignments_queued",
        "plain",
        "broker {broker} has {queued} assignments to send",
    )
    ASSIGNMENT_QUEUE_EMPTY = (
        "assignment_queue_empty",
        "plain",
        "broker {broker} has no assignment left to send, after {full}",
    )
