"""The phases of the migration, from the metadata log (ZkMigrationState.java) and ZooKeeper.

The numbers of ZkMigrationStateRecord are not in order: PRE_MIGRATION is 2, MIGRATION 1,
POST_MIGRATION 3. A cluster that never had a ZooKeeper writes NONE (0), or no record while its
metadata.version is below 3.4 (FeaturesImage.write). A migrating quorum writes PRE_MIGRATION before
any broker can register.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from migration.image.summary import Mode, Phase, Registered
from migration.observed.znode_codec import ZkController

NONE: Final = 0
MIGRATION: Final = 1
PRE_MIGRATION: Final = 2
POST_MIGRATION: Final = 3

_PHASES: Final[Mapping[int | None, Phase]] = {
    None: Phase.ZOOKEEPER,
    NONE: Phase.KRAFT,
    PRE_MIGRATION: Phase.PRE_MIGRATION,
    POST_MIGRATION: Phase.FINALIZED,
}
"""While MIGRATION is the last record, the brokers' modes decide."""

COPY_TRANSACTION: Final = "ZK Migration"
"""The name of the transaction that copies ZooKeeper's content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """The latest ZkMigrationStateRecord.

    Attributes:
        value: the record's value; None before the first record.
        since_ms: the timestamp of the first record with that value. If a snapshot shows the value:
            of the last record read before the snapshot; 0: there was none.
        copying: the transaction "ZK Migration" is open.
    """

    value: int | None = None
    since_ms: int | None = None
    copying: bool = False

    @property
    def is_copied(self) -> bool:
        """Whether the copy from ZooKeeper was made in this metadata log."""
        return self.value in (MIGRATION, POST_MIGRATION)

    def now(self, value: int, at_ms: int) -> "MigrationState":
        """Return the state after a record."""
        return self if value == self.value else replace(self, value=value, since_ms=at_ms)


def phase_of(
    state: MigrationState, brokers: Iterable[Registered], controller: ZkController | None
) -> Phase:
    """Return the phase; before any state record or KRaft broker, the cluster is in ZooKeeper mode.

    `controller`: the last known holder of /controller; nobody holds it while it passes from one
    broker to another. A ZooKeeper broker that claimed it after the copy has rolled the cluster
    back. The metadata log cannot show that, because no controller writes it any more.
    """
    phase = _logged_phase(state, brokers)
    if phase in (Phase.HYBRID, Phase.DUAL_WRITE) and controller and not controller.is_kraft:
        copied_ms = state.since_ms
        if copied_ms is None or controller.claimed_ms > copied_ms:
            return Phase.ROLLED_BACK
    return phase


def _logged_phase(state: MigrationState, brokers: Iterable[Registered]) -> Phase:
    if state.copying:
        return Phase.COPYING
    if state.value == MIGRATION:
        in_zookeeper = any(broker.mode is not Mode.KRAFT for broker in brokers)
        return Phase.HYBRID if in_zookeeper else Phase.DUAL_WRITE
    if state.value is None and any(broker.mode is Mode.KRAFT for broker in brokers):
        return Phase.KRAFT
    if state.value not in _PHASES:
        raise UnknownMigrationState(f"ZkMigrationState {state.value} is none that Kafka 3.9 writes")
    return _PHASES[state.value]


class UnknownMigrationState(ValueError):
    """This version does not know the migration state; the phase is unknown."""
