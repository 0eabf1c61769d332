"""When ZooKeeper's content can be compared with the metadata log. Pure."""

from typing import Final

from migration.observed.znodes import CONTROLLER, MIGRATION
from migration.observed.zookeeper import ZooKeeperImage, observe
from streams.zookeeper.known import Known

FROZEN_AFTER_MS: Final = 300_000
"""In dual write KRaft rewrites `/migration` twice a second; after finalizing, never."""


def is_written_by_kraft(known: Known, now_ms: int) -> bool:
    """Whether a KRaft controller keeps ZooKeeper equal to its metadata log, as far as is seen.

    So from the end of the copy on, and until `/migration` was not seen to be rewritten for 5
    minutes. Where it was frozen before it was first seen, that is known only 5 minutes later: the
    clocks of ZooKeeper and Kraftgate are not compared.

    Args:
        known: What the watcher knows; only looked at where that is safe beside the watcher's work.
        now_ms: Kraftgate's clock.
    """
    migration, controller = known.znode(MIGRATION), known.znode(CONTROLLER)
    if not known.sees or migration is None or controller is None:
        return False
    image, _ = observe(ZooKeeperImage(), controller)
    image, _ = observe(image, migration)
    return (
        image.controller is not None
        and image.controller.is_kraft
        and image.migration is not None
        and image.migration.is_copied
        and now_ms - migration.seen_ms < FROZEN_AFTER_MS
    )
