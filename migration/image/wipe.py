"""Detects a quorum that skips the copy and then deletes ZooKeeper's topics.

A fresh quorum that finds the `/migration` of an earlier attempt assumes that the copy is complete.
It claims /controller and waits until its own metadata log has passed the offset in `/migration`
(KRaftMigrationDriver: "does not contain a superset of the metadata in ZK"). Then it makes ZooKeeper
equal to that log, which has no topics: it deletes all of them. Observed on 3.9.1, two minutes after
the takeover, for an offset of 287; ZkMigrationState stays PRE_MIGRATION all the time.
"""

from dataclasses import replace
from typing import Final

from migration.image.cluster import ClusterImage
from migration.image.summary import Phase, Vanished, Wiped
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.facts import ZooKeeperFact
from migration.observed.topic_facts import ZkTopicChanged
from migration.observed.znodes import CONTROLLER, MIGRATION
from migration.observed.zookeeper import ZooKeeperImage

_NAMED_MAX: Final = 20
_LATE_MS: Final = 5_000
"""A watch reports a deleted topic; a read reports the holder of /controller. So the deletion may be
known first, although it happened second."""

_ENDED_MS: Final = 60_000
"""The log of a running quorum grows by two records a second (metadata.max.idle.interval.ms); if it
grows less often, the offset is not proven."""


def skipped_at(zookeeper: ZooKeeperImage | None, phase: Phase) -> int | None:
    """Return the offset at which a quorum that skipped the copy wipes ZooKeeper; None: none did."""
    if phase is not Phase.PRE_MIGRATION or zookeeper is None or zookeeper.controller is None:
        return None
    found = zookeeper.found_at_takeover
    return found if found is not None and found > 0 else None


def found_by_log(zookeeper: ZooKeeperImage | None, at_ms: int) -> ZooKeeperImage | None:
    """Return ZooKeeper with what the quorum of a log that began at that time finds in /migration.

    If a quorum whose log was lost holds /controller, the next one follows it without a broker
    between them, and takes the copy of the lost log for its own. Who claimed /controller since the
    log began may have made the copy.
    """
    holder = None if zookeeper is None else zookeeper.controller
    if zookeeper is None or holder is None or not holder.is_kraft:
        return zookeeper
    found, left = zookeeper.found_at_takeover, zookeeper.migration
    if holder.claimed_ms < at_ms and left is not None:
        found = left.offset
    elif found is not None and found < 0:
        found = None
    return replace(zookeeper, found_at_takeover=found)


def skipped(
    before: ClusterImage, after: ClusterImage, seen_ms: int | None = None
) -> tuple[Event, ...]:
    """Return the event of a skipped copy if `after` is the first image that shows it.

    A fact or a record shows it: ZooKeeper may report the new controller before its log is read.
    """
    fields, collected = _fields(after), EventCollector(Source.ZOOKEEPER, seen_ms)
    if fields is not None and _fields(before) is None:
        collected.add(EventKind.COPY_SKIPPED, **fields)
    return collected.events


def _fields(image: ClusterImage) -> dict[str, int] | None:
    """Return the fields of the events about a skipped copy; None: the image shows none."""
    offset, zookeeper = skipped_at(image.zookeeper, image.phase), image.zookeeper
    if offset is None or zookeeper is None or zookeeper.controller is None:
        return None
    return {"controller": zookeeper.controller.id, "metadata_offset": offset}


def observe(
    before: ClusterImage, after: ClusterImage, fact: ZooKeeperFact
) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Apply one fact, which changed `before` to `after`; return the image and a wipe's events."""
    after = _proven(_restored(after, fact))
    if after.phase is not Phase.PRE_MIGRATION:
        return after, ()
    if isinstance(fact, ZkTopicChanged) and fact.what == "vanished":
        after = replace(after, vanished=_vanished(after.vanished, fact))
    fields = _fields(after)
    if fields is None:
        return after, ()
    collected = EventCollector(Source.ZOOKEEPER, fact.seen_ms)
    gone = after.vanished
    if gone is not None and fact.seen_ms - gone.last_ms <= _LATE_MS:
        if after.wiped is None:
            collected.add(EventKind.ZOOKEEPER_WIPED, **fields)
        after = replace(after, wiped=Wiped(controller=fields["controller"], gone=gone))
    return after, (*skipped(before, after, fact.seen_ms), *collected.events)


def _proven(image: ClusterImage) -> ClusterImage:
    """Return the image with the offset of a takeover that was not observed, once the log proves it.

    A quorum that makes a copy writes into /migration an offset at or after that of the copy's
    record (KRaftMigrationDriver, MigrateMetadataEvent). So a log that has passed the offset, and is
    still in PRE_MIGRATION, made none. The log of an earlier quorum proves nothing: it has ended.
    """
    zookeeper, at = image.zookeeper, image.provenance
    if zookeeper is None or at is None or image.phase is not Phase.PRE_MIGRATION:
        return image
    holder, found = zookeeper.controller, zookeeper.migration
    if holder is None or not holder.is_kraft or found is None or not found.is_copied:
        return image
    has_passed = at.offset >= found.offset and found.written_ms - at.timestamp_ms <= _ENDED_MS
    if zookeeper.found_at_takeover is not None or not has_passed:
        return image
    return replace(image, zookeeper=replace(zookeeper, found_at_takeover=found.offset))


def _restored(image: ClusterImage, fact: ZooKeeperFact) -> ClusterImage:
    """Count a topic that is back; the wipe is over once every step of its remedy was done."""
    wiped, zookeeper = image.wiped, image.zookeeper
    if wiped is None or zookeeper is None:
        return image
    if isinstance(fact, ZkTopicChanged) and fact.what == "appeared":
        wiped = replace(wiped, gone=_without(wiped.gone, fact.topic))
    is_over = (
        not wiped.gone.topics
        and zookeeper.controller is not None
        and not zookeeper.controller.is_kraft
        and zookeeper.migration is None
        and not {CONTROLLER, MIGRATION} & zookeeper.unreadable.keys()
        and zookeeper.blind_since_ms is None
    )
    return replace(image, wiped=None if is_over else wiped)


def _without(gone: Vanished, topic: str) -> Vanished:
    """Return the deleted topics without one that is back; a new topic replaces none of them."""
    named = tuple(each for each in gone.named if each != topic)
    if len(named) == len(gone.named) == gone.topics:
        return gone
    return replace(gone, topics=gone.topics - 1, named=named)


def _vanished(known: Vanished | None, fact: ZkTopicChanged) -> Vanished:
    """Count one more deletion; a gap longer than `_LATE_MS` begins a new count.

    Earlier deletions had another cause.
    """
    if known is None or fact.seen_ms - known.last_ms > _LATE_MS:
        known = Vanished(since_ms=fact.seen_ms, last_ms=fact.seen_ms, topics=0, named=())
    return Vanished(
        since_ms=known.since_ms,
        last_ms=fact.seen_ms,
        topics=known.topics + 1,
        named=(*known.named, fact.topic)[:_NAMED_MAX],
    )
