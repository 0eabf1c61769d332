"""The order in which brokers need attention."""

from migration.image.summary import BrokerSummary, Mode
from migration.metadata.replica_state import ReplicaState


def urgency(broker: BrokerSummary) -> int:
    """Return the rank, 0 first: held, offline replicas, fenced, not yet in KRaft mode, the rest."""
    offline = broker.replicas[ReplicaState.OFFLINE] + broker.replicas[ReplicaState.LOST]
    calm = (not broker.held, not offline, not broker.fenced, broker.mode is Mode.KRAFT)
    return sum(each << place for place, each in enumerate(reversed(calm)))
