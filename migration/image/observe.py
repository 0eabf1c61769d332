"""The next image from the facts of the other sources: ZooKeeper, the disks, JMX."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from migration.comparison import result
from migration.comparison.differences import Difference, Found, Last, ShardComparison, confirm
from migration.comparison.result import Comparing
from migration.image import jmx_check, wipe
from migration.image.cluster import Broker, ClusterImage, of_members
from migration.image.summary import WITHOUT_ZOOKEEPER, Mode, Phase
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed import jmx, quarantine, zookeeper
from migration.observed import log_dirs as disks
from migration.observed.facts import (
    DiskFact,
    FactQuarantined,
    JmxFact,
    JmxSeen,
    Observation,
    ZkContentRead,
    ZnodeSeen,
    ZooKeeperFact,
)
from migration.observed.jmx import JmxImage
from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage
from migration.shard.report import ShardReport

_NOT_COMPARABLE: Final = (
    Phase.ZOOKEEPER,
    Phase.PRE_MIGRATION,
    Phase.COPYING,
    Phase.ROLLED_BACK,
)


def observe(
    image: ClusterImage, facts: Iterable[Observation]
) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Apply facts in the order of observation; return the next image and the events."""
    events: list[Event] = []
    for fact in facts:
        if isinstance(fact, FactQuarantined):
            events += quarantine.events_of(fact)
        elif (why := quarantine.flaw(fact)) is not None and not isinstance(fact, ZnodeSeen):
            events += quarantine.events_of(quarantine.quarantined(fact, why))
        elif isinstance(fact, ZooKeeperFact):
            before = image
            seen, collected = zookeeper.observe(image.zookeeper or ZooKeeperImage(), fact)
            image = replace(image, zookeeper=seen, left=_still_away(image, seen))
            events += collected
            if image.phase is not before.phase:
                phase = EventCollector(Source.ZOOKEEPER, fact.seen_ms)
                phase.add(EventKind.PHASE_CHANGED, was=str(before.phase), now=str(image.phase))
                events += phase.events
            image, collected = wipe.observe(before, image, fact)
            events += collected
        elif isinstance(fact, DiskFact):
            known, collected = disks.observe(image.disks or DisksImage(), fact)
            image = replace(image, disks=known)
            events += collected
        elif isinstance(fact, JmxFact):
            numbers, collected = jmx.observe(image.jmx or JmxImage(), fact)
            events += collected
            if isinstance(fact, JmxSeen):
                numbers, collected = jmx_check.check(image, numbers, fact)
                events += collected
            image = replace(image, jmx=numbers)
    return image, tuple(events)


def _still_away(image: ClusterImage, seen: ZooKeeperImage) -> frozenset[int]:
    """Return the unregistered brokers without those that came back in ZooKeeper mode.

    A znode that was there before shows no return: it outlives its broker until the session expires.
    """
    before = image.zookeeper or ZooKeeperImage()
    return frozenset(e for e in image.left if before.lists(e) or not seen.lists(e))


def compare(
    image: ClusterImage,
    reports: Mapping[int, ShardReport],
    facts: Iterable[Observation],
    shards: int,
) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Apply the shards' comparisons with ZooKeeper and the disks; each of `shards` must report.

    `facts`: those of the same batch; the brokers in them are compared here.

    Before the copy the metadata log has no topics, and after a rollback no controller writes it:
    then there is nothing to compare. After the finalization none writes to ZooKeeper.
    """
    if image.phase in _NOT_COMPARABLE:
        return replace(image, content=Comparing(), places=Comparing()), ()
    events: list[Event] = []
    sources = [Source.ZOOKEEPER, Source.LOG_DIRS]
    if image.phase in WITHOUT_ZOOKEEPER:
        image, facts, sources = replace(image, content=Comparing()), (), [Source.LOG_DIRS]
    for fact in facts:
        if isinstance(fact, ZkContentRead):
            content = image.content
            part, last = against_brokers(image.brokers, content.brokers_last, fact)
            image = replace(image, content=replace(content, brokers=part, brokers_last=last))
    for source in sources:
        before = image.content if source is Source.ZOOKEEPER else image.places
        parts = [
            (shard, each)
            for shard, report in reports.items()
            for each in report.comparisons
            if each.of is source
        ]
        if not parts:
            continue
        parts.sort(key=lambda part: part[1].comparison)
        disks = of_members(image).disks if source is Source.LOG_DIRS else None
        after, collected = result.take(before, parts, shards, source, disks)
        events += collected
        image = (
            replace(image, content=after)
            if source is Source.ZOOKEEPER
            else replace(image, places=after)
        )
    return image, tuple(events)


LASTS_MS: Final = 25_000
"""The znode of a killed broker remains until the session times out: 18 s by default."""


def against_brokers(
    brokers: Mapping[int, Broker], before: Last, seen: ZkContentRead
) -> tuple[ShardComparison, Last]:
    """Compare; return the result and the state for the next comparison.

    Both sides may be correct and differ for a moment: a killed broker may already have registered
    in KRaft mode, a starting broker creates its znode before it registers, and a stopping broker is
    fenced later.
    """
    found: Found = {}
    there = set(seen.brokers)
    for broker in brokers.values():
        needs = broker.mode is Mode.MIGRATING
        if needs and not broker.fenced and broker.id not in there:
            found[_registration(broker.id, "absent", str(broker.mode))] = None
        elif not needs and broker.id in there:
            found[_registration(broker.id, "present", str(broker.mode))] = None
    for id_ in there - brokers.keys():
        found[_registration(id_, "present", "absent")] = None
    return confirm(seen, len(there & brokers.keys()), found, before, lasts_ms=LASTS_MS)


def _registration(broker: int, seen: str, logged: str) -> Difference:
    return Difference("registration", f"broker {broker}", seen, logged)
