"""When ZooKeeper's content can be compared with the metadata log. Pure."""

from typing import Final

from migration.observed.znodes import CONTROLLER, MIGRATION
from migration.observed.zookeeper import ZooKeeperImage, observe
from streams.zookeeper.known import Known

FROZEN_AFTER_MS: Final = 300_000
"""In dual write KRaft rewrites `/migration` twice a second; after finalizing, never."""


def is_written_by_kraft(known: Known, now_ms: int) -> bool:
    """Return whether a KRaft controller copies its metadata log to ZooKeeper, as far as known.

    That is from the end of the copy until `/migration` was not rewritten for 5 minutes. If it was
    frozen before the first reading, that is known only 5 minutes later: the clocks of ZooKeeper and
    Kraftgate are not compared.

    Args:
        known: The watcher's state; only accessed in ways that are safe while the watcher runs.
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
