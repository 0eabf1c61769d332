"""The states of a replica: what is known of its directory."""

import enum


class ReplicaState(enum.StrEnum):
    """What is known of the directory of one replica."""

    MIGRATING = "migrating"
    UNASSIGNED = "unassigned"
    ASSIGNED = "assigned"
    OFFLINE = "offline"
    LOST = "lost"
