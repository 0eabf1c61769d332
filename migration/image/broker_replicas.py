"""How many replicas a broker has: by the metadata log or, where it does not know, by its disks.

Before the copy the metadata log has no topics, and after a rollback it has old ones.
"""

from migration.image.summary import BrokerSummary, ClusterSummary, Phase


def log_counts(summary: ClusterSummary, broker: BrokerSummary) -> bool:
    """Return whether the metadata log counts this broker's replicas."""
    registered = broker.epoch is not None
    return registered and summary.partitions > 0 and summary.phase is not Phase.ROLLED_BACK


def on_disk(summary: ClusterSummary, broker: int) -> int | None:
    """Return how many replicas its log directories hold, as it last answered; None: unknown."""
    disks = None if summary.disks is None else summary.disks.brokers.get(broker)
    if disks is None or disks.answered_ms is None or disks.unreachable is not None:
        return None
    return sum(each.replicas for each in disks.log_dirs)
