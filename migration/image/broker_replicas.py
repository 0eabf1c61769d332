"""The number of a broker's replicas by its disks, where the metadata log does not count them."""

from migration.image.summary import ClusterSummary


def on_disk(summary: ClusterSummary, broker: int) -> int | None:
    """Return the number of replicas in its log directories at its last answer; None: unknown."""
    disks = None if summary.disks is None else summary.disks.brokers.get(broker)
    if disks is None or disks.answered_ms is None or disks.unreachable is not None:
        return None
    return sum(each.replicas for each in disks.log_dirs)
