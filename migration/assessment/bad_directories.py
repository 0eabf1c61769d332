"""Faults of log directories: the rules of the hazards and of preflight's checks."""

from collections.abc import Collection, Iterable, Mapping

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


def id_faults(
    disks: DisksImage, need_ids: Collection[int], registered: Mapping[int, Collection[str]]
) -> dict[int, list[str]]:
    """Return each broker's directories with missing or duplicate ids, as far as they were read.

    The ids are in meta.properties. A broker with a duplicate directory.id does not start
    (MetaPropertiesEnsemble.verify); if the id is another broker's, the controller rejects its
    registration (INVALID_REGISTRATION). If an id is missing, the broker generates a new one, and
    each replica in that directory stays assigned to an id that no longer exists.

    Args:
        disks: a directory that was read is `readable`.
        need_ids: brokers whose directories must have ids.
        registered: the ids of each broker's last registration; those without a directory are
            listed.
    """
    read = {
        (one.id, each.path): each.directory_id
        for one in disks.brokers.values()
        for each in one.log_dirs
        if each.readable
    }
    places: dict[str | None, list[tuple[int, str]]] = {}
    for at, id_ in read.items():
        places.setdefault(id_, []).append(at)
    found = {}
    for one in disks.brokers.values():
        own = {path: id_ for (broker, path), id_ in read.items() if broker == one.id}
        lines = [
            f"{path}: directory.id {id_}, as in {_others(places[id_], one.id, path)}"
            for path, id_ in own.items()
            if id_ is not None and len(places[id_]) > 1
        ]
        if one.id in need_ids:
            without = [path for path, id_ in own.items() if id_ is None]
            lines += [f"{path}: no directory.id in meta.properties" for path in without]
        if lines and len(own) == len(one.log_dirs):
            missed = [each for each in registered.get(one.id, ()) if each not in own.values()]
            lines += [f"registered, but in no directory now: {each}" for each in missed]
        if lines:
            found[one.id] = lines
    return found


def _others(found: list[tuple[int, str]], broker: int, path: str) -> str:
    others = [each for each in found if each != (broker, path)]
    return ", ".join(p if b == broker else f"{p} of broker {b}" for b, p in others)


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
