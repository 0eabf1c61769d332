"""Whether the brokers belong to the configured cluster."""

from migration.observed.probed import Unknown
from streams.kafka.broker_values import ClusterView
from streams.probe.gather import Target


def wrong_cluster(view: ClusterView, target: Target) -> Unknown | None:
    """Return an error if the brokers do not belong to the configured cluster, else None."""
    if target.cluster_id is None or view.cluster_id in (None, target.cluster_id):
        return None
    return Unknown(f"the brokers belong to cluster {view.cluster_id}, not {target.cluster_id}")
