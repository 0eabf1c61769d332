"""Whether it is the right cluster that answers."""

from migration.observed.probed import Unknown
from streams.kafka.broker_values import ClusterView
from streams.probe.gather import Target


def wrong_cluster(view: ClusterView, target: Target) -> Unknown | None:
    """Say that the brokers belong to another cluster than the configuration demands."""
    if target.cluster_id is None or view.cluster_id in (None, target.cluster_id):
        return None
    return Unknown(f"the brokers belong to cluster {view.cluster_id}, not {target.cluster_id}")
