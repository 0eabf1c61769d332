"""The image at the start of the cluster's next metadata log, without the state of the last one.

Newly provisioned controllers write their log from offset 0. The state from ZooKeeper, the disks and
JMX remains.
"""

from migration.image.cluster import ClusterImage
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event


def begun(image: ClusterImage, log: int, at_ms: int) -> tuple[ClusterImage, tuple[Event, ...]]:
    """Step to the log with that number, before its first record.

    `at_ms`: the timestamp of its first record; 0: unknown.
    """
    after = ClusterImage(
        log=log,
        zookeeper=image.zookeeper,
        vanished=image.vanished,
        wiped=image.wiped,
        disks=image.disks,
        jmx=image.jmx,
    )
    known = image.provenance
    moment = at_ms or None
    restarted = Event(
        offset=None,
        timestamp_ms=moment,
        kind=EventKind.METADATA_LOG_RESTARTED,
        fields={
            "log": log,
            "was_offset": None if known is None else known.offset,
            "was_phase": str(image.phase),
            "topics": image.topics,
            "partitions": image.partitions,
        },
    )
    if after.phase is image.phase:
        return after, (restarted,)
    fields = {"was": str(image.phase), "now": str(after.phase)}
    changed = Event(offset=None, timestamp_ms=moment, kind=EventKind.PHASE_CHANGED, fields=fields)
    return after, (restarted, changed)
