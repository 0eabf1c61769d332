"""What becomes of topics in ZooKeeper, as events.

The facts tell changes already, so that no image has to hold every topic's assignment.
"""

from typing import Any

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Told
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicFact,
    ZkTopicsFound,
)
from migration.observed.znodes import TOPIC_CONFIGS, TOPICS


def tell(fact: ZkTopicFact, told: Told) -> None:
    """Tell what a fact means."""
    match fact:
        case ZkTopicsFound():
            told.tell(EventKind.ZK_TOPICS_FOUND, topics=fact.topics, partitions=fact.partitions)
        case ZkTopicChanged():
            told.at_ms = fact.at_ms
            _topic(fact, told)
        case ZkConfigChanged(why=None):
            told.at_ms = fact.at_ms
            kind = EventKind.ZK_CONFIG_GONE if fact.gone else EventKind.ZK_CONFIG_CHANGED
            told.tell(kind, topic=fact.topic, keys=list(fact.keys))
        case ZkConfigChanged():
            told.at_ms = fact.at_ms
            path = f"{TOPIC_CONFIGS}/{fact.topic}"
            told.tell(EventKind.ZNODE_UNREADABLE, path=path, reason=fact.why)
        case ZkStatesChanged():
            told.tell(
                EventKind.ZK_PARTITION_STATES_CHANGED,
                changes=fact.changes,
                topics=fact.topics,
                named=list(fact.named),
                since_ms=fact.since_ms,
            )


def _topic(fact: ZkTopicChanged, told: Told) -> None:
    of: dict[str, Any] = {"topic": fact.topic, "topic_id": fact.topic_id}
    match fact.what:
        case "unreadable":
            told.tell(EventKind.ZNODE_UNREADABLE, path=f"{TOPICS}/{fact.topic}", reason=fact.why)
        case "appeared":
            told.tell(EventKind.ZK_TOPIC_APPEARED, **of, partitions=fact.now)
        case "vanished":
            told.tell(EventKind.ZK_TOPIC_VANISHED, **of, partitions=fact.was)
        case _:
            told.tell(
                EventKind.ZK_TOPIC_REASSIGNED,
                **of,
                partitions=fact.now,
                partitions_before=fact.was,
                moved=fact.moved,
                replicas=[f"{n}: {list(was)} -> {list(now)}" for n, was, now in fact.named],
            )
