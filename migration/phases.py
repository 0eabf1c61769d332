"""The phases of the migration, from the metadata log's side (ZkMigrationState.java).

The numbers of ZkMigrationStateRecord are not in order: PRE_MIGRATION is 2, MIGRATION 1,
POST_MIGRATION 3; NONE (0) is written by a cluster that never had a ZooKeeper.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from migration.summary import Mode, Phase

NONE: Final = 0
MIGRATION: Final = 1
PRE_MIGRATION: Final = 2
POST_MIGRATION: Final = 3

COPY_TRANSACTION: Final = "ZK Migration"
"""The name of the transaction that copies ZooKeeper's content."""


class HasMode(Protocol):
    """Whatever has a broker's mode."""

    @property
    def mode(self) -> Mode:
        """How the broker takes part."""


def phase_of(state: int | None, copying: bool, brokers: Iterable[HasMode]) -> Phase:
    """Name the phase; before any state record the cluster is still ZooKeeper's."""
    if copying:
        return Phase.COPYING
    match state:
        case None:
            return Phase.ZOOKEEPER
        case 0:
            return Phase.KRAFT
        case 2:
            return Phase.PRE_MIGRATION
        case 1:
            in_zookeeper = any(broker.mode is not Mode.KRAFT for broker in brokers)
            return Phase.HYBRID if in_zookeeper else Phase.DUAL_WRITE
        case 3:
            return Phase.FINALIZED
        case _:
            raise UnknownMigrationState(f"ZkMigrationState {state} is none that Kafka 3.9 writes")


class UnknownMigrationState(ValueError):
    """A state that this version does not know; the phase cannot be told."""
