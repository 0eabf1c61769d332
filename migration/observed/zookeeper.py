"""The state in ZooKeeper: the controller, the progress of the copy, the registered brokers.

Interprets the facts of `migration.observed.facts`; the formats of the znodes are those of Kafka's
ZkData.scala. Unreadable znodes are listed, never guessed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed import znode_codec
from migration.observed.facts import (
    NotificationsMissed,
    ZnodeGone,
    ZnodeSeen,
    ZooKeeperBlind,
    ZooKeeperFact,
    ZooKeeperSeen,
)
from migration.observed.quarantine import flaw
from migration.observed.source_status import SourceStatus
from migration.observed.topic_facts import (
    ZkConfigChanged,
    ZkStatesChanged,
    ZkTopicChanged,
    ZkTopicFact,
    ZkTopicsFound,
)
from migration.observed.znode_codec import MigrationZnode, ZkBroker, ZkController
from migration.observed.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    MIGRATION,
    NOTIFICATIONS,
    REASSIGN_PARTITIONS,
    TOPIC_CONFIGS,
    TOPICS,
    parent,
)
from migration.values.foreign import Unreadable
from migration.values.timestamps import within

BEACON_STALE_MS: Final = 30_000
"""In dual write the controller writes `/migration` twice a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperImage:
    """The last known state of ZooKeeper.

    Attributes:
        seen_ms: when everything was last read; None: not yet.
        blind_since_ms: when the connection was lost; None: it is open.
        held_by: the last holder of /controller, even if the znode is deleted.
        found_at_takeover: the offset in /migration when a KRaft controller claimed /controller from
            a broker; None: that was neither observed nor proven later, or a broker holds it.
        controller_epoch_ms: ZooKeeper's time of its last write, at most Kraftgate's of its read.
        migration_copied: the last content of /migration that marked the copy as complete, even if
            the znode was deleted or changed since then.
        brokers: by id.
        ever: each id that was in /brokers/ids, including brokers that are down.
        notifications: number of directory failures reported in ZooKeeper mode whose content was
            read.
        notified: broker -> when it last reported a failed directory, by ZooKeeper's clock; only
            brokers that have not restarted since.
        missed: number of those whose content was deleted before it was read.
        missed_ms: when the last of them was detected; None: none was.
        partitions: number of partitions in /brokers/topics; None: not counted yet.
        reassigning: number of partitions in /admin/reassign_partitions.
        deleting: topics in /admin/delete_topics.
        unreadable: path -> why its content cannot be parsed.
        versions: path -> version of its data and mzxid, for the znodes on which decisions depend.
    """

    seen_ms: int | None = None
    server: str | None = None
    session: int = 0
    blind_since_ms: int | None = None
    controller: ZkController | None = None
    held_by: ZkController | None = None
    found_at_takeover: int | None = None
    controller_epoch: int | None = None
    controller_epoch_ms: int | None = None
    migration: MigrationZnode | None = None
    migration_copied: MigrationZnode | None = None
    brokers: Mapping[int, ZkBroker] = field(default_factory=dict)
    ever: frozenset[int] = frozenset()
    notifications: int = 0
    notified: Mapping[int, int] = field(default_factory=dict)
    missed: int = 0
    missed_ms: int | None = None
    partitions: int | None = None
    reassigning: int = 0
    deleting: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def has_migration(self) -> bool:
        """Whether a KRaft controller has claimed the cluster, or has created /migration before."""
        claimed = self.controller is not None and self.controller.is_kraft
        return claimed or self.migration is not None or MIGRATION in self.unreadable

    @property
    def unread_brokers(self) -> frozenset[int]:
        """The brokers whose znodes in /brokers/ids cannot be parsed; names may be no ids."""
        names = (path.rpartition("/") for path in self.unreadable)
        return frozenset(
            int(id_) for at, _, id_ in names if at == BROKER_IDS and _ID.fullmatch(id_)
        )

    def lists(self, broker: int) -> bool:
        """Return whether the broker is in /brokers/ids, even if its znode cannot be parsed."""
        return broker in self.brokers or f"{BROKER_IDS}/{broker}" in self.unreadable


_ID: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_VERSIONED: Final = (CONTROLLER, CONTROLLER_EPOCH, MIGRATION, REASSIGN_PARTITIONS)


def observe(image: ZooKeeperImage, fact: ZooKeeperFact) -> tuple[ZooKeeperImage, tuple[Event, ...]]:
    collected = EventCollector(Source.ZOOKEEPER, fact.seen_ms)
    match fact:
        case ZooKeeperBlind():
            if image.blind_since_ms is None:
                collected.add(EventKind.ZOOKEEPER_BLIND, reason=fact.why)
                image = replace(image, blind_since_ms=fact.seen_ms)
        case ZooKeeperSeen():
            image = _seen(image, fact, collected)
        case NotificationsMissed() if fact.number:
            collected.add(EventKind.NOTIFICATIONS_MISSED, first=fact.first, count=fact.number)
            missed = image.missed + fact.number
            image = replace(image, missed=missed, missed_ms=fact.seen_ms)
        case ZnodeSeen():
            image = _znode(image, fact, collected)
        case NotificationsMissed():
            pass  # none: the fact only sets where counting begins
        case ZnodeGone():
            image = _gone(image, fact.path, collected)
        case _ if isinstance(fact, ZkTopicFact):
            image = _topics(image, fact, collected)
    return image, collected.events


def _seen(image: ZooKeeperImage, fact: ZooKeeperSeen, collected: EventCollector) -> ZooKeeperImage:
    if image.seen_ms is None:
        collected.add(EventKind.ZOOKEEPER_SEEN, server=fact.server)
    elif fact.blind_since_ms is not None:
        collected.add(
            EventKind.ZOOKEEPER_SEEN_AGAIN,
            server=fact.server,
            blind_ms=fact.seen_ms - fact.blind_since_ms,
            blind_since_ms=fact.blind_since_ms,
            session_expired=fact.session != image.session,
        )
    return replace(
        image,
        seen_ms=fact.seen_ms,
        server=fact.server,
        session=fact.session,
        blind_since_ms=None,
    )


def _znode(image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector) -> ZooKeeperImage:
    if (why := flaw(fact)) is not None:
        return _unreadable(image, fact.path, why, collected)
    collected.at_ms = within(fact.mtime_ms)
    if fact.path in _VERSIONED or parent(fact.path) == BROKER_IDS:
        version = (fact.version, fact.mzxid)
        image = replace(image, versions={**image.versions, fact.path: version})
    try:
        after = _read(image, fact, collected)
    except Unreadable as error:
        return _unreadable(image, fact.path, str(error), collected)
    return _readable(after, fact.path)


def _unreadable(
    image: ZooKeeperImage, path: str, why: str, collected: EventCollector
) -> ZooKeeperImage:
    if image.unreadable.get(path) != why:
        collected.add(EventKind.ZNODE_UNREADABLE, path=path, reason=why)
    return replace(image, unreadable={**image.unreadable, path: why})


def _read(image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector) -> ZooKeeperImage:
    path = fact.path
    if path == CONTROLLER:
        return _controller(image, fact, collected)
    if path == CONTROLLER_EPOCH:
        epoch = znode_codec.controller_epoch_of(fact.data)
        written_ms = min(fact.mtime_ms, fact.seen_ms)  # the two clocks may differ
        return replace(image, controller_epoch=epoch, controller_epoch_ms=written_ms)
    if path == MIGRATION:
        return _migration(image, fact, collected)
    if path == REASSIGN_PARTITIONS:
        partitions = len(znode_codec.reassigning_of(fact.data))
        if partitions != image.reassigning:
            collected.add(EventKind.REASSIGNMENT_REQUESTED, partitions=partitions)
        return replace(image, reassigning=partitions)
    if parent(path) == BROKER_IDS:
        return _broker(image, fact, collected)
    if parent(path) == DELETE_TOPICS:
        topic = path.rpartition("/")[2]
        collected.add(EventKind.TOPIC_DELETION_REQUESTED, topic=topic)
        return replace(image, deleting=tuple(sorted({*image.deleting, topic})))
    if parent(path) == NOTIFICATIONS:
        return _notification(image, fact, collected)
    return image


def _controller(
    image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector
) -> ZooKeeperImage:
    now = znode_codec.controller_of(fact.data, fact.mtime_ms)
    was = image.controller
    if was is None or (was.id, was.kraft_epoch) != (now.id, now.kraft_epoch):
        collected.add(
            EventKind.ZK_CONTROLLER_CHANGED,
            controller=now.id,
            kraft=now.is_kraft,
            was=None if was is None else was.id,
            was_kraft=None if was is None else was.is_kraft,
        )
    # A ZooKeeper broker is the controller: a copy belongs to an attempt that has ended.
    copied = image.migration_copied if now.is_kraft else None
    return replace(
        image,
        controller=now,
        held_by=now,
        found_at_takeover=_found(image, now),
        migration_copied=copied,
    )


def _found(image: ZooKeeperImage, now: ZkController) -> int | None:
    if image.held_by is not None and image.held_by.is_kraft == now.is_kraft:
        return image.found_at_takeover
    # Without a continuous watch, /migration may have been written before the takeover or after it.
    watched = image.seen_ms is not None and image.blind_since_ms is None
    if not (now.is_kraft and watched and image.migration is not None):
        return None
    return image.migration.offset


def _migration(image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector) -> ZooKeeperImage:
    was = image.migration
    now = migration_znode(fact, was)
    if was is None:
        collected.add(EventKind.MIGRATION_ZNODE_FOUND, metadata_offset=now.offset)
    elif now.is_copied and not was.is_copied:
        collected.add(EventKind.ZOOKEEPER_COPIED, metadata_offset=now.offset)
    if now.is_copied:
        return replace(image, migration=now, migration_copied=now)
    # A quorum creates the znode if it finds none.
    found = None if image.found_at_takeover is None else now.offset
    return replace(image, migration=now, found_at_takeover=found)


def migration_znode(fact: ZnodeSeen, was: MigrationZnode | None) -> MigrationZnode:
    """Return the content of `/migration`; `was`: when it was read before.

    Raises:
        Unreadable: the data has another format.
    """
    now = znode_codec.migration_of(fact.data, fact.mtime_ms, fact.seen_ms)
    if was is None or was.text == now.text:
        return now
    # It was written since the last read.
    return replace(now, written_ms=max(now.written_ms, min(was.observed_ms, now.observed_ms)))


def with_heartbeat(image: ZooKeeperImage, status: SourceStatus) -> ZooKeeperImage:
    """Return the image with the last write of `/migration` that the source reports.

    For the write that the image has, the report's time is better: the fact was delayed. A report
    neither creates the znode nor marks its copy as complete: only facts do.
    """
    known, mzxid, version = image.migration, status.migration_mzxid, status.migration_version
    offset, written_ms = status.migration_offset, status.migration_written_ms
    if known is None or not known.is_copied or MIGRATION not in image.versions:
        return image
    if mzxid is None or version is None or offset is None or written_ms is None:
        return image
    _, known_mzxid = image.versions[MIGRATION]
    if mzxid < known_mzxid:
        return image
    now = replace(known, offset=offset, written_ms=written_ms)
    versions = {**image.versions, MIGRATION: (version, mzxid)}
    return replace(image, migration=now, migration_copied=now, versions=versions)


def _broker(image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector) -> ZooKeeperImage:
    name = fact.path.rpartition("/")[2]
    now = znode_codec.broker_of(name, fact.data, fact.mtime_ms, fact.seen_ms)
    id_ = now.id
    known = image.brokers.get(id_)
    if known is None:
        collected.add(EventKind.ZK_BROKER_APPEARED, id_)
    elif fact.version > 0:  # a running broker wrote it again: its listeners changed
        now = replace(now, since_ms=known.since_ms, read_ms=known.read_ms)
    return replace(
        image,
        brokers={**image.brokers, id_: now},
        ever=image.ever | {id_},
        notified=_current(image.notified, now),
    )


def _current(notified: Mapping[int, int], broker: ZkBroker) -> Mapping[int, int]:
    """Leave out the notification of a broker that has restarted since."""
    at_ms = notified.get(broker.id)
    if at_ms is None or broker.since_ms <= at_ms:
        return notified
    return {each: at for each, at in notified.items() if each != broker.id}


def _notification(
    image: ZooKeeperImage, fact: ZnodeSeen, collected: EventCollector
) -> ZooKeeperImage:
    sequence = fact.path.rpartition("/")[2]
    broker = znode_codec.notifying_broker_of(fact.data)
    collected.add(EventKind.LOG_DIR_FAILURE_NOTIFIED, broker, notification=sequence)
    notified: Mapping[int, int] = {**image.notified, broker: fact.mtime_ms}
    if broker in image.brokers:
        notified = _current(notified, image.brokers[broker])
    return replace(image, notifications=image.notifications + 1, notified=notified)


def _gone(image: ZooKeeperImage, path: str, collected: EventCollector) -> ZooKeeperImage:
    image = _readable(image, path)
    if path in image.versions:
        left_versions = {each: known for each, known in image.versions.items() if each != path}
        image = replace(image, versions=left_versions)
    if path == CONTROLLER and image.controller is not None:
        collected.add(EventKind.ZK_CONTROLLER_GONE, was=image.controller.id)
        return replace(image, controller=None)
    if path == CONTROLLER_EPOCH:
        return replace(image, controller_epoch=None, controller_epoch_ms=None)
    if path == MIGRATION and image.migration is not None:
        collected.add(EventKind.MIGRATION_ZNODE_DELETED, metadata_offset=image.migration.offset)
        return replace(image, migration=None)
    if path == REASSIGN_PARTITIONS:
        return replace(image, reassigning=0)
    if parent(path) == DELETE_TOPICS:
        topic = path.rpartition("/")[2]
        return replace(image, deleting=tuple(each for each in image.deleting if each != topic))
    if parent(path) == BROKER_IDS:
        id_ = path.rpartition("/")[2]
        left = {each: broker for each, broker in image.brokers.items() if str(each) != id_}
        if len(left) < len(image.brokers):
            collected.add(EventKind.ZK_BROKER_GONE, int(id_))
        return replace(image, brokers=left)
    return image


def _readable(image: ZooKeeperImage, path: str) -> ZooKeeperImage:
    if path not in image.unreadable:
        return image
    left = {each: why for each, why in image.unreadable.items() if each != path}
    return replace(image, unreadable=left)


def _topics(image: ZooKeeperImage, fact: ZkTopicFact, collected: EventCollector) -> ZooKeeperImage:
    match fact:
        case ZkTopicsFound():
            if image.partitions is None:  # only the first count is an event
                collected.add(
                    EventKind.ZK_TOPICS_FOUND, topics=fact.topics, partitions=fact.partitions
                )
            return replace(image, partitions=fact.partitions)
        case ZkTopicChanged():
            collected.at_ms = fact.at_ms
            _topic(fact, collected)
            if image.partitions is not None:
                partitions = image.partitions + (fact.now or 0) - (fact.was or 0)
                return replace(image, partitions=partitions)
        case ZkConfigChanged():
            collected.at_ms = fact.at_ms
            if fact.why is None:
                kind = EventKind.ZK_CONFIG_GONE if fact.gone else EventKind.ZK_CONFIG_CHANGED
                collected.add(kind, topic=fact.topic, keys=list(fact.keys))
            else:
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
    return image


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
