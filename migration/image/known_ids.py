"""The brokers and controllers of a cluster; no other module decides which ids exist.

A broker is known if any source has reported it: it is registered with the controllers, it is or was
in /brokers/ids, or it has described its log directories. The summary has no disks of a broker that
was unregistered for good (`migration.image.cluster`).
"""

from collections.abc import Collection, Iterable

from migration.image.summary import ClusterSummary, Mode
from migration.observed.zookeeper import ZooKeeperImage


def member_brokers(summary: ClusterSummary) -> frozenset[int]:
    """Return each broker that currently belongs to the cluster, according to any source."""
    zookeeper = summary.zookeeper or ZooKeeperImage()
    return frozenset(
        [*(each.id for each in summary.brokers), *zookeeper.brokers, *summary.broker_disks]
    )


def known_brokers(summary: ClusterSummary) -> frozenset[int]:
    """Return each member, and each broker that was ever in ZooKeeper."""
    zookeeper = summary.zookeeper or ZooKeeperImage()
    return member_brokers(summary) | zookeeper.ever


def in_zookeeper(summary: ClusterSummary) -> frozenset[int]:
    """Return the brokers that use ZooKeeper, by their znodes.

    A broker that registered with a controller after it created its znode has left ZooKeeper: the
    znode remains until the session ends. The znode's time is unknown if it cannot be read: then a
    broker has left ZooKeeper if it is unfenced in KRaft mode.
    """
    zookeeper = summary.zookeeper or ZooKeeperImage()
    registered = {each.id: each.registered_ms or 0 for each in summary.brokers}
    found = {
        id_ for id_, each in zookeeper.brokers.items() if registered.get(id_, 0) <= each.since_ms
    }
    left = {each.id for each in summary.brokers if each.mode is Mode.KRAFT and not each.fenced}
    return frozenset(found | (zookeeper.unread_brokers - left))


def known_controllers(summary: ClusterSummary, voters: Iterable[int] = ()) -> frozenset[int]:
    """Return each controller that is registered, leads, or is a voter of the quorum."""
    leader = () if summary.active_controller is None else (summary.active_controller,)
    return frozenset([*(each.id for each in summary.controllers or ()), *leader, *voters])


def no_such(kind: str, id_: int, cluster: str, known: Collection[int]) -> str:
    """Return the message that an id does not exist, with the known ids."""
    listed = ", ".join(map(str, sorted(known))) or "none"
    return f"{cluster} has no {kind} {id_}. Known {kind}s: {listed}"


def ids(found: Collection[int]) -> str:
    """Return the ids as text: `broker 3`, `brokers 1, 2`."""
    listed = ", ".join(map(str, sorted(found)))
    return f"broker {listed}" if len(found) == 1 else f"brokers {listed}"
