"""The next image from what was seen beside the metadata log: ZooKeeper's facts and the disks'."""

from collections.abc import Iterable
from dataclasses import replace

from migration import disks, zookeeper
from migration.disks import DisksImage
from migration.event import Event, Source, Told
from migration.image import ClusterImage
from migration.observations import DiskFact, Observation, ZooKeeperFact
from migration.zookeeper import ZooKeeperImage


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
