"""The states of a replica's directory."""

import enum
from typing import Final


class ReplicaState(enum.StrEnum):
    """The state of the directory of one replica."""

    MIGRATING = "migrating"
    UNASSIGNED = "unassigned"
    ASSIGNED = "assigned"
    OFFLINE = "offline"
    LOST = "lost"
    RESERVED = "reserved"


PENDING_STATES: Final = (
    ReplicaState.MIGRATING,
    ReplicaState.UNASSIGNED,
    ReplicaState.LOST,
    ReplicaState.RESERVED,
)
"""The states of pending replicas: their directory is not known. They hold a broker."""
