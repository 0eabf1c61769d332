"""The identity of a cluster as labels, to be displayed, and joined to its other metrics."""

from typing import Final

from migration.metadata.versions import name_of
from orchestrator.run.cluster_read import ClusterRead
from orchestrator.views.metrics.exposition import Exposition, Subject

IDENTITY: Final = Subject("kraftgate", "cluster")

_CLUSTER: Final = IDENTITY.info(
    "cluster",
    "The cluster's id, its finalized metadata.version by name, and the runbook. An "
    "empty label is unknown, or none.",
    "cluster_id",
    "metadata_version",
    "runbook",
)


def tell_identity(into: Exposition, one: ClusterRead) -> None:
    """Add the identity, once at least one of its labels is known."""
    level = one.summary.metadata_version
    told: dict[str, str | None] = {
        "cluster_id": one.status.cluster_id,
        "metadata_version": None if level is None else name_of(level),
        "runbook": None if one.walk is None else one.walk.runbook,
    }
    if any(value is not None for value in told.values()):
        into.value(_CLUSTER, 1, one.summary.cluster, *(value or "" for value in told.values()))
