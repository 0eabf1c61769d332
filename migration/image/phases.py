"""The phases of the migration, as the metadata log (ZkMigrationState.java) and ZooKeeper tell.

The numbers of ZkMigrationStateRecord are not in order: PRE_MIGRATION is 2, MIGRATION 1,
POST_MIGRATION 3; NONE (0) is written by a cluster that never had a ZooKeeper.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from migration.image.summary import Mode, Phase
from migration.observed.znode_codec import ZkController

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """The latest ZkMigrationStateRecord.

    Attributes:
        value: as the record has it; None before the first record.
        since_ms: the timestamp of the first record with that value.
        copying: the transaction "ZK Migration" is open.
    """

    value: int | None = None
    since_ms: int | None = None
    copying: bool = False

    def now(self, value: int, at_ms: int) -> "MigrationState":
        """Take a record in."""
        return self if value == self.value else replace(self, value=value, since_ms=at_ms)


def phase_of(
    state: MigrationState, brokers: Iterable[HasMode], controller: ZkController | None
) -> Phase:
    """Name the phase; before any state record the cluster is still ZooKeeper's.

    `controller`: who held /controller last, if that is known; while brokers pass it on, nobody
    does. A ZooKeeper broker that claimed it after the copy has taken the cluster back: the metadata
    log cannot tell, nobody writes it any more.
    """
    phase = _logged_phase(state, brokers)
    if phase in (Phase.HYBRID, Phase.DUAL_WRITE) and controller and not controller.is_kraft:
        copied_ms = state.since_ms
        if copied_ms is None or controller.claimed_ms > copied_ms:
            return Phase.ROLLED_BACK
    return phase


def _logged_phase(state: MigrationState, brokers: Iterable[HasMode]) -> Phase:
    if state.copying:
        return Phase.COPYING
    match state.value:
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
            raise UnknownMigrationState(
                f"ZkMigrationState {state.value} is none that Kafka 3.9 writes"
            )


class UnknownMigrationState(ValueError):
    """A state that this version does not know; the phase cannot be told."""
