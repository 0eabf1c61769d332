"""Faults of log directories: the rules of the hazards and of preflight's checks."""

from collections.abc import Collection, Iterable

from migration.image.summary import BrokerSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks, DisksImage
from migration.observed.probed import Broker, LogDir, Unknown


def danger(broker: BrokerSummary | None, phase: Phase) -> str | None:
    """Return how a restart would harm a bad directory's replicas (H1, H2, H3); None: not at all.

    A broker with an unknown mode is treated as one in ZooKeeper mode.
    """
    if broker is not None and broker.mode is Mode.KRAFT:
        states = [
            name
            for state, name in (
                (ReplicaState.UNASSIGNED, "be recreated, empty, elsewhere if unassigned (H2)"),
                (ReplicaState.MIGRATING, "not be created if migrating (H3)"),
            )
            if broker.replicas[state]
        ]
        return "would " + " and ".join(states) if states else None
    if phase is Phase.ZOOKEEPER or broker is None or broker.mode is Mode.ZOOKEEPER:
        return (
            "would be recreated, empty, elsewhere once the broker restarts in migration mode (H1)"
        )
    return "would be recreated, empty, in its other directories (H1; in KRaft mode H2, H3)"


def last_ones(every: Collection[str], failed: Collection[str | None]) -> tuple[str, ...] | None:
    """Return the usable directories if one or none of several remains; None: more remain."""
    left = tuple(each for each in every if each not in failed)
    return left if len(every) > 1 and len(left) < 2 else None


def disks_of(brokers: Iterable[Broker]) -> DisksImage:
    """Return the disks of the brokers that described them, as probes gathered them.

    Before the window each error that a broker reports for a directory counts as offline.
    """
    return DisksImage(
        brokers={
            broker.id: BrokerDisks(
                id=broker.id, log_dirs=tuple(_seen(broker, each) for each in broker.log_dirs)
            )
            for broker in brokers
            if not isinstance(broker.log_dirs, Unknown)
        }
    )


def _seen(broker: Broker, one: LogDir) -> LogDirSeen:
    read = {each.path: each.directory_id for each in broker.meta or () if each.readable}
    return LogDirSeen(
        path=one.path,
        error=STORAGE_ERROR if one.error else 0,
        total_bytes=one.total_bytes,
        usable_bytes=one.usable_bytes,
        replicas=len(one.replicas),
        bytes=0,
        futures=len(one.futures),
        future_lag_max=0,
        directory_id=read.get(one.path),
        readable=True if one.path in read else None,
    )
