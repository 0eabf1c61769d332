"""Hazards of a broker's directories that Kafka 3.9 does not report (H1-H3).

A broker that restarts while one of its directories is missing recreates that directory's replicas,
empty, in the other directories, unless the controller knows where they were: in migration mode all
of them (H1), in KRaft mode the `unassigned` ones (H2). It refuses to create the `migrating` ones
(H3). See LogManager.getOrCreateLog and MigrationPropagator.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from migration.assessment.failed_directories import (
    Channel,
    DirectoryFailed,
    advice,
    danger,
    last_ones,
    restart_advice,
)
from migration.assessment.hazards.hazard import Hazard, HazardKind
from migration.assessment.meta_properties import id_faults, version_refusal
from migration.image.summary import WITHOUT_ZOOKEEPER, BrokerSummary, ClusterSummary, Mode
from migration.metadata.replica_state import PENDING_STATES
from migration.observed.facts import ReplicaSeen
from migration.observed.log_dirs import (
    FAILURE_TIMEOUT,
    FAILURE_TIMEOUT_MS,
    NOT_CLEANED,
    BrokerDisks,
    CutOff,
    DirectoryMove,
    DisksImage,
    behind,
    name,
)
from migration.values.evidence import capitalized, count
from migration.values.timestamps import utc_text

_HEARD_MS: Final = 6_000
"""Three heartbeats, by Kafka's default."""
_WAY_BACK: Final = (
    "{action}. Do not start or restart the broker before that: stop it if it runs, repair or mount"
    " the disk, or free space on it if it is full, and check that its meta.properties and the"
    " partition folders are there; an empty disk does not restore it. If Kraftgate runs on the"
    " broker's host, the hazard may end then. Otherwise it ends only when the broker has started:"
    " before that, check every directory on its host with a second person (`kraftgate"
    " meta-properties`, and the partition folders). If the disk is lost, first move its partitions"
    " to other brokers, or accept the loss: partitions with one replica are lost, the others are"
    " copied from their leaders."
)
_WRITE_BACK: Final = (
    "Do not stop, start or restart broker {broker} before its meta.properties is written back, with"
    " the version, node id and cluster id of its other ones (in ZooKeeper mode version=0, with"
    " broker.id): a running broker does not read it. If the file belongs to another broker, mount"
    " the right disk instead, and write nothing into that file. Write"
)


def restart_loses_replicas(
    summary: ClusterSummary,
    disks: DisksImage,
    failed: Iterable[DirectoryFailed],
    *,
    rolls_back: bool,
) -> Iterator[Hazard]:
    """Yield the failed directories that make a restart lose replicas (H1, H2, H3, before)."""
    for each in failed:
        if each.broker is None or each.is_inferred:
            continue
        broker = summary.broker(each.broker)
        does = danger(broker, summary.phase, rolls_back=rolls_back)
        if does is not None:
            one = disks.brokers.get(each.broker, BrokerDisks(id=each.broker))
            action, _ = advice(each, summary, log_is_current=True, rolls_back=rolls_back)
            yield _restart_hazard(each, one, broker, does, action)


def _restart_hazard(
    failed: DirectoryFailed, one: BrokerDisks, broker: BrokerSummary | None, does: str, action: str
) -> Hazard:
    cut_off = None if failed.path is None else one.cut_off.get(failed.path)
    held = "its replicas" if cut_off is None else _count(cut_off)
    lines = _evidence(failed, one, cut_off, broker)
    unnamed = 0 if cut_off is None else cut_off.replicas - len(cut_off.named)
    return Hazard(
        kind=HazardKind.RESTART_LOSES_REPLICAS,
        broker=one.id,
        text=(
            f"broker {one.id} must not be restarted: {failed.name} is {failed.how}, and"
            f" {held} {does}"
        ),
        evidence=tuple(lines),
        way_out=_WAY_BACK.format(action=action),
        since_ms=failed.since_ms,
        counted=len(lines) + unnamed,
    )


def _count(cut_off: CutOff) -> str:
    sole = f", {cut_off.sole} of them the only one of its partition," if cut_off.sole else ""
    return f"the {cut_off.replicas} replicas in it{sole}"


def _evidence(
    failed: DirectoryFailed,
    one: BrokerDisks,
    cut_off: CutOff | None,
    broker: BrokerSummary | None,
) -> list[str]:
    lines = [f"{failed.path or failed.name}: {failed.how}"]
    if one.unreachable is not None:
        lines.append(f"the broker does not answer: {one.unreachable}")
    if broker is not None and broker.pending:
        pending = [each for each in PENDING_STATES if broker.replicas[each]]
        lines.append(", ".join(f"{broker.replicas[each]} replicas {each}" for each in pending))
    return lines if cut_off is None else [*lines, *map(_line, cut_off.named)]


def _line(each: ReplicaSeen) -> str:
    end = "" if each.end_offset is None else f", log end offset {each.end_offset}"
    copies = "the only replica" if each.replicas == 1 else f"one of {each.replicas} replicas"
    return f"{name(each)}: {copies}, {each.bytes} bytes{end}"


def halted_in_migration(
    summary: ClusterSummary,
    disks: DisksImage,
    failed: Iterable[DirectoryFailed],
    *,
    log_is_current: bool,
) -> Iterator[Hazard]:
    """Yield the brokers that may have halted in migration mode because of a failed directory.

    A failed directory halts such a broker (KAFKA-16431). It names the directory only in its own
    log, and neither ZooKeeper nor the controllers learn of it: the cause is unknown until the
    directories are read on its host.
    """
    halted = {e.broker: e for e in failed if e.broker is not None and Channel.HALT in e.channels}
    for id_, each in halted.items():
        one = disks.brokers.get(id_, BrokerDisks(id=id_))
        unseen = [each.path for each in one.log_dirs if each.readable is None]
        broker = summary.broker(id_)
        is_fenced = log_is_current and broker is not None and broker.fenced
        yield Hazard(
            kind=HazardKind.HALTED_IN_MIGRATION,
            broker=id_,
            text=(
                f"broker {id_} {_DOWN if is_fenced else _SILENT}, in which a failed log directory"
                " halts a broker; whether its log directories are readable is unknown"
            ),
            evidence=tuple(f"not checked: {path}" for path in unseen)
            or ("not checked: its log directories, which it never described",),
            way_out=("" if is_fenced else _FIRST)
            + (
                "Before you start the broker, check each directory on its host: the mount,"
                " meta.properties, the partition folders, and what the broker's log and the"
                " kernel's log report. There, grep 'Shutdown broker because' server.log names the"
                " directory that halted it; without such a line, the broker stopped for another"
                " reason or could not write it."
            ),
            since_ms=each.since_ms,
        )


_DOWN: Final = "is down in migration mode"
_SILENT: Final = "does not answer Kraftgate, and may be down: it is in migration mode"
_FIRST: Final = (
    "Check on its host whether the broker runs; if it does, restore Kraftgate's connection to it. "
)


def broker_shuts_down(
    summary: ClusterSummary,
    disks: DisksImage,
    failed: Iterable[DirectoryFailed],
    now_ms: int,
    *,
    rolls_back: bool,
) -> Iterator[Hazard]:
    """Yield the brokers in KRaft mode with a failed directory that no controller has recorded.

    KIP-858, "Handling log directory failures": such a broker shuts down after
    log.dir.failure.timeout.ms. The hazard begins only after the first heartbeats. A directory that
    was bad when the broker started is in no registration, and does not count. Kafka has one timer
    for all directories, which each failure restarts
    (BrokerLifecycleManager.propagateDirectoryFailure).
    """
    for broker in summary.brokers:
        one = disks.brokers.get(broker.id)
        if one is None or one.unreachable is not None or broker.mode is not Mode.KRAFT:
            continue
        since = {
            each.path: each.since_ms
            for each in failed
            if (each.broker, each.channels) == (broker.id, (Channel.LOG_DIRS,))
            if each.path in one.offline_since_ms and each.since_ms is not None
        }
        is_registered = len(broker.log_dirs) > len(one.log_dirs) - len(one.offline_since_ms)
        if not since or not is_registered or now_ms - min(since.values()) < _HEARD_MS:
            continue
        timeout_ms = one.failure_timeout_ms or FAILURE_TIMEOUT_MS
        deadline_ms = max(since.values()) + timeout_ms
        is_assumed = one.failure_timeout_ms is None
        harms = danger(broker, summary.phase, rolls_back=rolls_back)
        restart = restart_advice(broker.id, harms)
        yield Hazard(
            kind=HazardKind.BROKER_SHUTS_DOWN,
            broker=broker.id,
            text=(
                f"broker {broker.id} begins to shut down by {utc_text(deadline_ms)},"
                f" unless its report that {', '.join(map(str, since))} failed reaches a controller"
            ),
            evidence=(
                *(f"{each}: offline since {utc_text(at)}" for each, at in since.items()),
                "the broker is still registered with it",
                f"{FAILURE_TIMEOUT}={timeout_ms}"
                + (", Kafka's default: the broker does not describe it" if is_assumed else ""),
            ),
            way_out=(
                f"Restore the connection of broker {broker.id} to the active controller by"
                f" {utc_text(deadline_ms)}: the quorum, the network, the listener's certificates"
                " and credentials. It then reports the directory and continues with the others."
                f" A shutdown is orderly. {capitalized(restart)}."
            ),
            since_ms=min(since.values()),
            deadline_ms=deadline_ms,
        )


def replicas_recreated(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """Yield the brokers that recreated replicas, or may have, without a directory (H1, H2, after).

    The registration's record alone has the number of pending replicas at that moment, so this and
    the next hazard read it instead of the failed directories. In any mode a broker also recreates
    the replicas of a directory that was taken out of log.dirs. Only those without another copy
    count: the others are copied from their leaders.
    """
    for id_ in sorted({*(each.id for each in summary.brokers), *disks.brokers}):
        broker, one = summary.broker(id_), disks.brokers.get(id_, BrokerDisks(id=id_))
        gone = None if broker is None or _creates_none(broker, disks) else broker.gone
        recreated = {path: each for path, each in one.recreated.items() if each.sole}
        sole = sum(each.sole for each in recreated.values())
        if gone is not None:
            text = (
                f"registered without {len(gone.directories)} of its log directories while"
                f" {gone.pending} of its replicas had no known log directory or were in them: these"
                " may have been recreated, empty"
            )
        elif recreated:
            text = (
                f"runs without its log directory {', '.join(recreated)}, and recreated"
                f" {count(sole, 'replica')} from there that no other broker has, with fewer bytes"
            )
        else:
            continue
        missing = () if gone is None else gone.directories
        named = ((path, e) for path, at in recreated.items() for e in at.named if e.replicas == 1)
        yield Hazard(
            kind=HazardKind.REPLICAS_RECREATED,
            broker=id_,
            text=f"broker {id_} {text}",
            evidence=(
                *(f"directory id {each} is missing" for each in missing),
                *(f"{_line(each)}, in {path}" for path, each in named),
            ),
            way_out=(
                f"Stop the producers to the partitions of broker {id_}, and then the broker,"
                " before more is overwritten. Keep the missing directory, copy it, and compare the"
                " log end offsets of its partitions with those of the new logs. Do not put it back"
                " next to the new logs: the broker does not start with two logs of one partition."
            ),
            since_ms=gone.at_ms if gone else min(e.since_ms for e in recreated.values()),
            counted=len(missing) + sole,
        )


def _creates_none(broker: BrokerSummary, disks: DisksImage) -> bool:
    """Return whether the broker is known to have created none of its pending replicas (H3).

    It refuses the `migrating` ones while a directory is offline, and recreates them if the missing
    directory was taken out of log.dirs or replaced (Partition.createLogInAssignedDirectoryId). So
    it must report each missing directory offline, and every other one must be registered.
    """
    one, gone = disks.brokers.get(broker.id), broker.gone
    since_ms = broker.registered_ms
    if one is None or gone is None or since_ms is None or (one.answered_ms or 0) <= since_ms:
        return False
    offline = len(one.offline_since_ms)
    is_offline = len(broker.unregistered) <= offline == len(one.log_dirs) - len(broker.log_dirs)
    return is_offline and gone.migrating == gone.pending


def directory_failed_under_pending(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the brokers with a directory that failed while replicas had no known directory.

    The controller does not know that these replicas were in the failed directory. They keep their
    leaders and stay in the ISR, although no client can read or write them.
    """
    for broker in summary.brokers:
        failed = broker.failed
        if failed is None:
            continue
        yield Hazard(
            kind=HazardKind.DIRECTORY_FAILED_UNDER_PENDING,
            broker=broker.id,
            text=(
                f"a log directory of broker {broker.id} failed while {failed.pending} of its"
                " replicas had no known log directory: Kafka does not move the leaders of the"
                " replicas that were in it"
            ),
            evidence=(
                *(f"directory id {each} failed" for each in failed.directories),
                f"{broker.pending} replicas still have no known directory",
            ),
            way_out=(
                f"Do not restart broker {broker.id} before its assignments are complete: check that"
                " it reaches the active controller. Once it has reported where its replicas are,"
                " Kafka moves their leaders. Replicas that stay without a directory are in one that"
                " was missing when the broker started: restore that directory."
            ),
            since_ms=failed.at_ms,
        )


def one_directory_left(
    summary: ClusterSummary,
    disks: DisksImage,
    failed: Sequence[DirectoryFailed],
    *,
    log_is_current: bool,
    rolls_back: bool,
) -> Iterator[Hazard]:
    """Yield the brokers with one directory left: without any directory the broker halts.

    The registration shows it for a broker that never described its directories.
    """
    registered = {one.id: (*one.log_dirs, *one.unregistered) for one in summary.brokers}
    paths = {one.id: [e.path for e in one.log_dirs] for one in disks.brokers.values()}
    for id_ in sorted({*registered, *paths}):
        own = [each for each in failed if each.broker == id_]
        every = paths.get(id_) or registered.get(id_, ())
        left = last_ones(every, {e for each in own for e in (each.path, each.directory)})
        if left is None:
            continue
        count = f"one log directory left: {left[0]}" if left else "no log directory left"
        advised = [
            advice(each, summary, log_is_current=log_is_current, rolls_back=rolls_back)
            for each in own
            if not each.is_inferred
        ]
        actions = ". ".join(dict.fromkeys(action for action, _ in advised))
        yield Hazard(
            kind=HazardKind.ONE_DIRECTORY_LEFT,
            broker=id_,
            text=f"broker {id_} has {count}",
            evidence=tuple(f"{each}: offline" for each in every if each not in left),
            way_out=(
                f"{actions}. {capitalized(advised[0][1])}. Do it before the last directory fails:"
                " then the broker halts."
            ),
        )


def future_replica_stuck(disks: DisksImage) -> Iterator[Hazard]:
    """Yield the brokers with moves between directories that do not end (KIP-113).

    Kafka may lose the controller's confirmation of the new directory (KAFKA-16365), or promote no
    replica after it (KAFKA-16297).
    """
    for one in disks.brokers.values():
        stuck = one.stuck
        if not stuck:
            continue
        moves = "a move" if len(stuck) == 1 else f"{len(stuck)} moves"
        yield Hazard(
            kind=HazardKind.FUTURE_REPLICA_STUCK,
            broker=one.id,
            text=f"broker {one.id} makes no progress with {moves} between its log directories",
            evidence=tuple(map(_stuck, stuck)),
            way_out=(
                "Find out who started the move. Check the throttle"
                " (replica.alter.log.dirs.io.max.bytes.per.second), and the free space of the"
                " target directory. To cancel the move, assign the replica's current directory"
                " again (kafka-reassign-partitions.sh with `log_dirs`). After a cancellation"
                f" {NOT_CLEANED}. If the replica has caught"
                " up, restart the broker once no other hazard blocks it (KAFKA-16365, KAFKA-16297):"
                " first stop the producers of these partitions that have no other in-sync replica,"
                " because a broker that starts may replace the log with a copy that has fallen"
                " behind (LogManager.recoverAbandonedFutureLogs)."
            ),
            since_ms=min(each.since_ms for each in stuck),
        )


def _stuck(move: DirectoryMove) -> str:
    return f"{name(move.replica)} moves to {move.path}: {behind(move.replica.lag)}"


def directory_ids(summary: ClusterSummary, disks: DisksImage) -> Iterator[Hazard]:
    """Yield the brokers with a bad or newer `meta.properties`, or a bad, duplicate or missing id.

    KIP-858, "Broker lifecycle management" and "Reserved UUIDs".
    """
    registered = {each.id: each.log_dirs for each in summary.brokers}
    ids = {
        one.id: {e.path: e.directory_id for e in one.log_dirs if e.readable and not e.trouble}
        for one in disks.brokers.values()
    }
    gone = {
        broker: [each for each in registered.get(broker, ()) if each not in found.values()]
        for broker, found in ids.items()
    }
    # A directory without an id is new, or as it was before the migration, if none is missing.
    whole = {broker for broker in ids if registered.get(broker) and not gone[broker]}
    faults = id_faults(ids, _with_ids(summary, disks) - whole)
    registered_modes = {each.id: each.mode for each in summary.brokers}
    unregistered = Mode.KRAFT if summary.phase in WITHOUT_ZOOKEEPER else Mode.ZOOKEEPER
    for broker, one in disks.brokers.items():
        bad = [each.trouble for each in one.log_dirs if each.trouble]
        is_in_zookeeper = registered_modes.get(broker, unregistered) is Mode.ZOOKEEPER
        files = one.log_dirs if is_in_zookeeper else ()
        newer = [e for each in files if (e := version_refusal(each.path, each.version))]
        own = (f"{each.path}: {each.text}" for each in faults.get(broker, ()))
        lines = [*bad, *newer, *own]
        if not lines:
            continue
        if len(ids[broker]) + len(bad) == len(one.log_dirs):
            lines += [f"registered, but in no directory now: {each}" for each in gone[broker]]
        wrong = (
            f"a meta.properties of broker {broker} is missing, malformed or not its own"
            if bad
            else f"a meta.properties of broker {broker} has version=1"
            if newer
            else f"a directory.id of broker {broker} is duplicate, reserved or missing"
        )
        yield Hazard(
            kind=HazardKind.DIRECTORY_IDS,
            broker=broker,
            text=(
                f"{wrong}: the broker does not start, or the controller rejects it, or it starts"
                " without the directory or with a new id, and partitions whose only replica is"
                " assigned to the old id lose their leader"
            ),
            evidence=tuple(lines),
            way_out=(
                _WRITE_BACK.format(broker=broker)
                if bad or newer
                else "With the broker stopped, write"
            )
            + (
                " into each meta.properties the directory.id that the directory had (the evidence"
                " names registered ids without a directory). Remove the line, so that the broker"
                " generates a new id, only if no replica is in the directory."
            ),
        )


def _with_ids(summary: ClusterSummary, disks: DisksImage) -> set[int]:
    """Return the brokers whose directories were read after they got ids.

    A broker writes the ids just before it registers.
    """
    read_ms = {one.id: one.answered_ms or 0 for one in disks.brokers.values()}
    return {
        each.id
        for each in summary.brokers
        if each.mode is not Mode.ZOOKEEPER and read_ms.get(each.id, 0) > (each.registered_ms or 0)
    }
