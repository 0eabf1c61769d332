"""Which brokers and controllers a cluster has: the one place that decides it.

A broker is known once any source has shown it: it is registered with the controllers, it is or was
in /brokers/ids, or it has described its log directories.
"""

from collections.abc import Collection, Iterable

from migration.image.summary import ClusterSummary
from migration.observed.log_dirs import DisksImage
from migration.observed.zookeeper import ZooKeeperImage


def member_brokers(summary: ClusterSummary) -> frozenset[int]:
    """Every broker that belongs to the cluster now, as far as any source shows it."""
    zookeeper = summary.zookeeper or ZooKeeperImage()
    disks = summary.disks or DisksImage()
    return frozenset([*(each.id for each in summary.brokers), *zookeeper.brokers, *disks.brokers])


def known_brokers(summary: ClusterSummary) -> frozenset[int]:
    """Every broker that any source has ever shown: these and those that are down, or have left."""
    zookeeper = summary.zookeeper or ZooKeeperImage()
    return member_brokers(summary) | zookeeper.ever


def known_controllers(summary: ClusterSummary, voters: Iterable[int] = ()) -> frozenset[int]:
    """Every controller that is registered, leads, or is one of the quorum's voters."""
    leader = () if summary.active_controller is None else (summary.active_controller,)
    return frozenset([*(each.id for each in summary.controllers or ()), *leader, *voters])


def no_such(kind: str, id_: int, cluster: str, known: Collection[int]) -> str:
    """Say that an id does not exist, and which do."""
    listed = ", ".join(map(str, sorted(known))) or "none"
    return f"{cluster} has no {kind} {id_}. Known {kind}s: {listed}"
