"""The events of topics in ZooKeeper.

The facts already report changes, so that no image has to store each topic's assignment.
"""

from typing import Any

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import EventCollector
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicFact,
    ZkTopicsFound,
)
from migration.observed.znodes import TOPIC_CONFIGS, TOPICS


def add_events(fact: ZkTopicFact, collected: EventCollector) -> None:
    """Add the events of a fact."""
    match fact:
        case ZkTopicsFound():
            collected.add(EventKind.ZK_TOPICS_FOUND, topics=fact.topics, partitions=fact.partitions)
        case ZkTopicChanged():
            collected.at_ms = fact.at_ms
            _topic(fact, collected)
        case ZkConfigChanged(why=None):
            collected.at_ms = fact.at_ms
            kind = EventKind.ZK_CONFIG_GONE if fact.gone else EventKind.ZK_CONFIG_CHANGED
            collected.add(kind, topic=fact.topic, keys=list(fact.keys))
        case ZkConfigChanged():
            collected.at_ms = fact.at_ms
            path = f"{TOPIC_CONFIGS}/{fact.topic}"
            collected.add(EventKind.ZNODE_UNREADABLE, path=path, reason=fact.why)
        case ZkStatesChanged():
            collected.add(
                EventKind.ZK_PARTITION_STATES_CHANGED,
                changes=fact.changes,
                topics=fact.topics,
                named=list(fact.named),
                since_ms=fact.since_ms,
            )


def _topic(fact: ZkTopicChanged, collected: EventCollector) -> None:
    of: dict[str, Any] = {"topic": fact.topic, "topic_id": fact.topic_id}
    match fact.what:
        case "unreadable":
            collected.add(
                EventKind.ZNODE_UNREADABLE, path=f"{TOPICS}/{fact.topic}", reason=fact.why
            )
        case "appeared":
            collected.add(EventKind.ZK_TOPIC_APPEARED, **of, partitions=fact.now)
        case "vanished":
            collected.add(EventKind.ZK_TOPIC_VANISHED, **of, partitions=fact.was)
        case _:
            collected.add(
                EventKind.ZK_TOPIC_REASSIGNED,
                **of,
                partitions=fact.now,
                partitions_before=fact.was,
                moved=fact.moved,
                replicas=[f"{n}: {list(was)} -> {list(now)}" for n, was, now in fact.named],
            )
