"""The next image from what was seen beside the metadata log: ZooKeeper's facts and the disks'."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from migration import compared, disks, zookeeper
from migration.compared import Comparing
from migration.disks import DisksImage
from migration.event import Event, Source, Told
from migration.image import ClusterImage
from migration.observations import DiskFact, Observation, ZooKeeperFact
from migration.shard import ShardReport
from migration.summary import Phase
from migration.zookeeper import ZooKeeperImage

_NOT_COMPARABLE: Final = (
    Phase.ZOOKEEPER,
    Phase.PRE_MIGRATION,
    Phase.COPYING,
    Phase.ROLLED_BACK,
)


def observe(
    image: ClusterImage, facts: Iterable[Observation]
) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Take facts in, in the order they were seen, and tell the events on the way."""
    events: list[Event] = []
    for fact in facts:
        if isinstance(fact, ZooKeeperFact):
            before = image.phase
            seen, told = zookeeper.observe(image.zookeeper or ZooKeeperImage(), fact)
            image = replace(image, zookeeper=seen)
            events += told
            if image.phase is not before:
                phase = Told(Source.ZOOKEEPER, fact.seen_ms)
                phase.tell("phase_changed", was=str(before), now=str(image.phase))
                events += phase.events
        elif isinstance(fact, DiskFact):
            known, told = disks.observe(image.disks or DisksImage(), fact)
            image = replace(image, disks=known)
            events += told
    return image, tuple(events)


def compare(
    image: ClusterImage, reports: Mapping[int, ShardReport], shards: int
) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Take in what the shards found against ZooKeeper and the disks; all `shards` must tell.

    Before the copy the metadata log holds no topic, and after a roll-back nobody writes it any
    more: then there is nothing to compare with.
    """
    if image.phase in _NOT_COMPARABLE:
        return replace(image, content=Comparing(), places=Comparing()), ()
    events: list[Event] = []
    for source, before in ((Source.ZOOKEEPER, image.content), (Source.LOG_DIRS, image.places)):
        parts = [
            (shard, each)
            for shard, report in reports.items()
            for each in report.comparisons
            if each.of is source
        ]
        if not parts:
            continue
        parts.sort(key=lambda part: part[1].comparison)
        disks = image.disks if source is Source.LOG_DIRS else None
        after, told = compared.take(before, parts, shards, source, disks)
        events += told
        image = (
            replace(image, content=after)
            if source is Source.ZOOKEEPER
            else replace(image, places=after)
        )
    return image, tuple(events)
