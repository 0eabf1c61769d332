"""What happened, in words: a sentence for each kind of event, and how much it matters."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from migration.metadata.events import Event, Source
from migration.metadata.versions import name_of
from migration.values.durations import duration_text
from orchestrator.view.words import pairs

Weight: TypeAlias = Literal["bad", "notable", "plain"]
EventLane: TypeAlias = Literal["metadata", "zookeeper", "disks", "jmx"]

LANES: Final[Mapping[Source, EventLane]] = {
    Source.KRAFT_METADATA: "metadata",
    Source.ZOOKEEPER: "zookeeper",
    Source.LOG_DIRS: "disks",
    Source.JMX: "jmx",
}

SENTENCES: Final = {
    # The metadata log
    "phase_changed": "the phase is {now}, after {was}",
    "metadata_log_restarted": "another metadata log begins, number {log}; the one before ended at"
    " offset {was_offset} in phase {was_phase}",
    "snapshot_loaded": "a snapshot was read in place of records",
    "controller_elected": "controller {controller} leads the quorum",
    "controller_registered": "controller {controller} registered,"
    " zookeeper.metadata.migration.enable: {zk_migration_ready}",
    "metadata_version": "metadata.version is {version}",
    "transaction_opened": "a transaction begins: {name}",
    "transaction_ended": "the transaction is committed",
    "transaction_aborted": "the transaction is aborted, {dropped} records dropped: {reason}",
    "unknown_record": "a record of a kind that this version does not know (api key {api_key})",
    "record_contradicts": "a record contradicts what is known: {reason}",
    "broker_registered": "broker {broker} registered in {mode} mode, with {directories} log"
    " directories and {pending} replicas without a known one",
    "broker_amended": "broker {broker} told more of itself",
    "broker_held": "broker {broker} is held: {pending} replicas have no known directory",
    "assignments_complete": "broker {broker} is complete: every replica has a directory{after}",
    "broker_unfenced": "Kafka lets broker {broker} serve (unfenced)",
    "broker_unfenced_early": "broker {broker} serves while {pending} of its replicas have no known"
    " directory (unfenced early)",
    "broker_fenced": "Kafka does not let broker {broker} serve (fenced)",
    "broker_controlled_shutdown": "broker {broker} begins a controlled shutdown",
    "broker_unregistered": "broker {broker} is not registered any more",
    "log_dirs_lost": "broker {broker} registers {lost} log directories less, {left} are left",
    "log_dirs_added": "broker {broker} registers {added} more log directories",
    "topic_created": "topic {topic} is in the metadata log",
    "topic_deleted": "topic {topic} is gone from the metadata log",
    # ZooKeeper
    "zookeeper_seen": "ZooKeeper is read from {server}",
    "zookeeper_blind": "ZooKeeper is not seen: {reason}",
    "zookeeper_seen_again": "ZooKeeper is seen again, after {blind}",
    "zk_controller_changed": "{holder} {controller} holds /controller",
    "zk_controller_gone": "nobody holds /controller; {was} did",
    "zk_broker_appeared": "broker {broker} is in /brokers/ids",
    "zk_broker_gone": "broker {broker} is not in /brokers/ids",
    "migration_znode_found": "/migration is there, with metadata offset {metadata_offset}",
    "migration_znode_deleted": "/migration is gone; it had metadata offset {metadata_offset}",
    "zookeeper_copied": "ZooKeeper's content is copied, up to metadata offset {metadata_offset}",
    "copy_skipped": "controller {controller} skipped the copy: /migration had metadata offset"
    " {metadata_offset}",
    "zookeeper_wiped": "controller {controller} deletes ZooKeeper's topics, which it never copied",
    "znode_unreadable": "{path} says nothing: {reason}",
    "fact_quarantined": "a fact is left out ({subject}): {reason}",
    "notifications_missed": "{count} notifications of failed directories came and went unread",
    "log_dir_failure_notified": "broker {broker} tells of a failed log directory",
    "reassignment_requested": "a reassignment of {partitions} partitions is asked for",
    "topic_deletion_requested": "the deletion of topic {topic} is asked for",
    "zk_topics_found": "ZooKeeper has {topics} topics with {partitions} partitions",
    "zk_topic_appeared": "topic {topic} is in ZooKeeper, with {partitions} partitions",
    "zk_topic_vanished": "topic {topic} is gone from ZooKeeper",
    "zk_topic_reassigned": "topic {topic} is reassigned in ZooKeeper: {moved} partitions move",
    "zk_config_changed": "settings of topic {topic} change in ZooKeeper",
    "zk_config_gone": "settings of topic {topic} are gone from ZooKeeper",
    "zk_partition_states_changed": "{changes} leaders and ISRs of {topics} topics are written in"
    " ZooKeeper",
    "zookeeper_differs": "ZooKeeper and the metadata log differ in {what} of {subject}",
    "differences_not_told": "{count} more differences are not told one by one",
    "differences_over": "no difference is found any more",
    "znode_not_compared": "{path} is left out of the comparison: {reason}",
    "znodes_compared_again": "nothing is left out of the comparison any more",
    # Disks
    "log_dir_identified": "{path} of broker {broker} is directory {directory}",
    "disks_unreachable": "broker {broker} does not describe its log directories: {reason}",
    "disks_answer_again": "broker {broker} describes its log directories again, after {silent}",
    "log_dir_appeared": "broker {broker} has another log directory: {path}",
    "log_dir_vanished": "broker {broker} does not name {path} any more",
    "log_dir_offline": "{path} of broker {broker} cannot be used: {reason}",
    "log_dir_online": "{path} of broker {broker} can be used again",
    "replicas_cut_off": "{replicas} replicas in {path} of broker {broker} cannot be reached, {sole}"
    " of them the only one",
    "replicas_given_up": "broker {broker} runs without {path} and made its replicas anew",
    "replicas_reachable_again": "the replicas in {path} of broker {broker} can be reached again",
    "records_lost": "acknowledged records of {topic}-{partition} are gone: offsets"
    " {first_lost_offset} to {last_lost_offset}",
    "replica_not_on_disk": "{topic}-{partition} is in no directory of broker {broker}",
    "replica_not_in_metadata": "{topic}-{partition} lies in {path} of broker {broker}, and no"
    " metadata knows it",
    "replica_misplaced": "{topic}-{partition} lies in {path} of broker {broker}, and the metadata"
    " log says otherwise",
    "future_replica_not_promoted": "the move of {topic}-{partition} on broker {broker} does not"
    " end",
    # JMX
    "jmx_unreachable": "the JMX numbers of node {node} cannot be had: {reason}",
    "jmx_answers_again": "the JMX numbers of node {node} are there again, after {silent}",
    "jmx_changed": "{name} of node {node} reads {now}, after {was}",
    "jmx_contradicts": "{name} of node {node} reads {reads}, where {expected} is expected",
    "jmx_agrees_again": "{name} of node {node} agrees again",
    "assignments_queued": "broker {broker} has {queued} assignments to send",
    "assignment_queue_empty": "broker {broker} has no assignment left to send, after {full}",
}
BAD: Final = frozenset(
    {
        "broker_unfenced_early", "record_contradicts", "log_dirs_lost", "transaction_aborted",
        "unknown_record", "copy_skipped", "zookeeper_wiped", "zookeeper_blind", "znode_unreadable",
        "notifications_missed", "log_dir_failure_notified", "zookeeper_differs", "log_dir_offline",
        "fact_quarantined",
        "replicas_cut_off", "replicas_given_up", "records_lost", "replica_not_on_disk",
        "replica_misplaced", "jmx_contradicts", "differences_not_told", "snapshot_loaded",
    }
)  # fmt: skip
PLAIN: Final = frozenset(
    {
        "log_dir_identified", "zk_partition_states_changed", "jmx_changed", "topic_created",
        "topic_deleted", "zk_topics_found", "zookeeper_seen", "transaction_opened",
        "transaction_ended", "broker_amended", "zk_config_changed", "zk_config_gone",
        "zk_topic_appeared", "zk_topic_vanished", "assignments_queued", "assignment_queue_empty",
        "znode_not_compared", "znodes_compared_again", "controller_registered", "jmx_unreachable",
        "jmx_answers_again", "zk_topic_reassigned", "topic_deletion_requested",
    }
)  # fmt: skip

_COUNTED: Final = (("directories", "log_dirs"), ("lost", "directories"), ("added", "directories"))


def weight_of(kind: str) -> Weight:
    """How much an event of this kind matters to whoever reads what happened."""
    return "bad" if kind in BAD else "plain" if kind in PLAIN else "notable"


def sentence(event: Event) -> str:
    """Say what happened; of a kind that has no words, its fields."""
    fields = {**event.fields, **_derived(event)}
    fields = {k: str(v).lower() if isinstance(v, bool) else v for k, v in fields.items()}
    try:
        return SENTENCES[event.kind].format_map(fields)
    except KeyError:  # another version's kind, or its fields
        return f"{event.kind} {pairs(event.fields)}".strip()


def _derived(event: Event) -> dict[str, object]:
    fields = event.fields
    derived: dict[str, object] = {"broker": event.broker}
    for name in ("blind_ms", "silent_ms", "full_ms"):
        spent_ms = fields.get(name)
        if isinstance(spent_ms, int):
            derived[name.removesuffix("_ms")] = duration_text(spent_ms)
    for name, of in (
        ("directories", "log_dirs"),
        ("lost", "directories"),
        ("added", "directories"),
    ):
        listed = fields.get(of)
        if isinstance(listed, list | tuple):
            derived[name] = len(listed)
    held_ms, level = fields.get("held_ms"), fields.get("level")
    derived["after"] = f", after {duration_text(held_ms)}" if isinstance(held_ms, int) else ""
    if isinstance(level, int):
        derived["version"] = name_of(level)
    if "kraft" in fields:
        derived["holder"] = "KRaft controller" if fields["kraft"] else "broker"
    return derived
