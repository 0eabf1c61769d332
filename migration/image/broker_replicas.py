"""The number of a broker's replicas: from the metadata log or, where it has none, from the disks.

The metadata log has no topics before the copy, and outdated ones after a rollback.
"""

from migration.image.summary import BrokerSummary, ClusterSummary, Phase


def log_counts(summary: ClusterSummary, broker: BrokerSummary) -> bool:
    """Return whether the metadata log counts this broker's replicas."""
    registered = broker.epoch is not None
    return registered and summary.partitions > 0 and summary.phase is not Phase.ROLLED_BACK


def on_disk(summary: ClusterSummary, broker: int) -> int | None:
    """Return the number of replicas in its log directories at its last answer; None: unknown."""
    disks = None if summary.disks is None else summary.disks.brokers.get(broker)
    if disks is None or disks.answered_ms is None or disks.unreachable is not None:
        return None
    return sum(each.replicas for each in disks.log_dirs)
