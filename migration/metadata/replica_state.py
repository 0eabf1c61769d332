"""The states of a replica's directory."""

import enum


class ReplicaState(enum.StrEnum):
    """The state of the directory of one replica."""

    MIGRATING = "migrating"
    UNASSIGNED = "unassigned"
    ASSIGNED = "assigned"
    OFFLINE = "offline"
    LOST = "lost"
