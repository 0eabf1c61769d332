"""Which log directories failed; no other module decides it, everything else reads the result.

A failure is reported in several ways, at different times and with different names: the broker's
notification in ZooKeeper names only the broker, the registration names directory ids, and
DescribeLogDirs names paths. `failed_directories` merges them: one fact for one directory. `danger`
and `harm` decide what a restart would do to its replicas.
"""

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from migration.comparison.result import FILE, Identity
from migration.image.known_ids import member_brokers
from migration.image.summary import BrokerSummary, ClusterSummary, Mode, Phase
from migration.metadata.replica_state import ReplicaState
from migration.observed.facts import LogDirSeen
from migration.observed.log_dirs import (
    STORAGE_ERROR,
    BrokerDisks,
    LogDirState,
    is_bad,
    is_undescribed,
)
from migration.observed.zookeeper import ZooKeeperImage
from migration.values.evidence import count


class Channel(enum.StrEnum):
    """How a failure is known."""

    ZNODE = "znode"
    """A broker in ZooKeeper mode wrote a notification into ZooKeeper (KIP-112)."""
    REGISTRATION = "registration"
    """A broker reported it in a heartbeat, and its registration lost the directory (KIP-858)."""
    LOG_DIRS = "log_dirs"
    """The broker's answer to DescribeLogDirs, or an unreadable directory on the broker's host."""
    HALT = "halt"
    """Inferred: a broker in migration mode halts when a directory fails (KAFKA-16431)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryFailed:
    """A log directory that cannot be used.

    Attributes:
        broker: None: unknown, because the notification was deleted before it was read.
        directory: its id; None: unknown.
        path: None: unknown. With neither, it is some directory of the broker.
        channels: all that report it.
        how: its state, in a few words.
        since_ms: None: unknown.
        among: the brokers that may be the unknown one.
    """

    broker: int | None
    directory: str | None = None
    path: str | None = None
    channels: tuple[Channel, ...]
    how: str = "offline"
    since_ms: int | None = None
    among: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The directory, as the subject of a sentence about its broker."""
        if self.path is not None:
            return f"its log directory {self.path}"
        if self.directory is not None:
            return f"its log directory with id {self.directory}"
        return "one of its log directories"

    @property
    def is_inferred(self) -> bool:
        """Whether nothing reports it: the broker may have halted for another reason."""
        return self.channels == (Channel.HALT,)


def failed_directories(summary: ClusterSummary) -> tuple[DirectoryFailed, ...]:
    """Return the failed directories, by broker; those of unknown brokers are last."""
    disks = summary.broker_disks
    zookeeper = summary.zookeeper or ZooKeeperImage()
    known, ids = {each.id: each for each in summary.brokers}, summary.directory_ids()
    found: list[DirectoryFailed] = []
    for id_ in sorted({*known, *disks, *zookeeper.notified}):
        one, broker = disks.get(id_, BrokerDisks(id=id_)), known.get(id_)
        unregistered = {} if broker is None else broker.unregistered
        named = _by_path_and_id(ids.get(id_, {}), one, unregistered)
        named = _merged(named, _notified(id_, broker, zookeeper))
        found += _merged(named, _halted(broker, one, zookeeper))
    missed = _missed(summary, disks, zookeeper)
    return (*found, missed) if missed else tuple(found)


def on_disks(one: BrokerDisks) -> Iterator[DirectoryFailed]:
    """Yield the paths that cannot be read, and those with cut-off replicas."""
    seen = {each.path: each for each in one.log_dirs}
    for path in sorted({*(each.path for each in one.log_dirs if is_bad(each)), *one.cut_off}):
        cut_off = one.cut_off.get(path)
        yield DirectoryFailed(
            broker=one.id,
            path=path,
            channels=(Channel.LOG_DIRS,),
            how=_how(seen.get(path)),
            since_ms=one.offline_since_ms.get(path) if cut_off is None else cut_off.since_ms,
        )


def _how(seen: LogDirSeen | None) -> str:
    if seen is not None and seen.error == STORAGE_ERROR:
        return "offline"
    if seen is not None and seen.readable is False:
        return "not readable on its host"
    return "not among the directories that it reports"


def state_of(
    log_dir: LogDirSeen, disks: BrokerDisks, failed: Iterable[DirectoryFailed]
) -> LogDirState:
    """Return the state of one of a broker's directories; `failed`: at least the broker's."""
    if any((each.broker, each.path) == (disks.id, log_dir.path) for each in failed):
        return LogDirState.OFFLINE
    if is_undescribed(log_dir) or (disks.unreachable is not None and not log_dir.readable):
        return LogDirState.UNKNOWN
    return LogDirState.ONLINE


def _by_path_and_id(
    ids: Mapping[str, Identity], one: BrokerDisks, unregistered: Mapping[str, int | None]
) -> list[DirectoryFailed]:
    """Return the failed paths, and the directories that are no longer registered, each once.

    Paths without an id and ids without a path are paired, because they are the same directories,
    except for ids that another path has in its `meta.properties`. Which id belongs to which path is
    known only if there is one of each.
    """
    left = dict(unregistered)
    found, unnamed = [], []
    for each in on_disks(one):
        of_path = ids.get(each.path or "")
        if of_path is None:
            unnamed.append(each)
        elif of_path.directory in left:
            named = replace(each, directory=of_path.directory)
            found.append(_also(named, left.pop(of_path.directory), Channel.REGISTRATION))
        else:
            found.append(replace(each, directory=of_path.directory))
    of_others = left.keys() & {each.directory for each in ids.values() if each.by == FILE}
    found += (_unregistered(one.id, each, left.pop(each)) for each in sorted(of_others))
    is_clear = len(unnamed) == len(left) == 1
    for path, id_ in zip_longest(unnamed, left):
        if id_ is None:
            found.append(path)
        elif path is not None:
            both = _also(path, left[id_], Channel.REGISTRATION)
            found.append(replace(both, directory=id_ if is_clear else None))
        else:
            found.append(_unregistered(one.id, id_, left[id_]))
    return found


def _unregistered(broker: int, directory: str, since_ms: int | None) -> DirectoryFailed:
    return DirectoryFailed(
        broker=broker,
        directory=directory,
        channels=(Channel.REGISTRATION,),
        how="no longer registered",
        since_ms=since_ms,
    )


def _also(one: DirectoryFailed, since_ms: int | None, *channels: Channel) -> DirectoryFailed:
    times = [each for each in (one.since_ms, since_ms) if each is not None]
    return replace(one, channels=(*one.channels, *channels), since_ms=min(times, default=None))


def _merged(named: list[DirectoryFailed], report: DirectoryFailed | None) -> list[DirectoryFailed]:
    """Merge a report that names no directory into the broker's others: it may mean any of them."""
    if report is None:
        return named
    return [_also(e, report.since_ms, *report.channels) for e in named] or [report]


def _notified(
    id_: int, broker: BrokerSummary | None, zookeeper: ZooKeeperImage
) -> DirectoryFailed | None:
    """Return what a broker notified; a start in KRaft mode, which writes no znode, ends it."""
    if id_ not in zookeeper.notified or _has_left(broker, zookeeper):
        return None
    return DirectoryFailed(broker=id_, channels=(Channel.ZNODE,), since_ms=zookeeper.notified[id_])


def _has_left(broker: BrokerSummary | None, zookeeper: ZooKeeperImage) -> bool:
    """Return whether a broker is in KRaft mode, and its znode of before is gone."""
    if broker is None or broker.mode is not Mode.KRAFT:
        return False
    return broker.id not in zookeeper.brokers


def _halted(
    broker: BrokerSummary | None, one: BrokerDisks, zookeeper: ZooKeeperImage
) -> DirectoryFailed | None:
    """Infer that a broker in migration mode halted: it is down, and its directories are unread.

    If it never described them, its fencing without a controlled shutdown, and its absence from
    /brokers/ids, show that it is down.
    """
    if broker is None or broker.mode is not Mode.MIGRATING:
        return None
    if one.log_dirs:
        is_down = one.unreachable is not None and any(e.readable is None for e in one.log_dirs)
    else:
        is_down = (
            broker.fenced
            and not broker.in_controlled_shutdown
            and zookeeper.seen_ms is not None
            and broker.id in zookeeper.ever - zookeeper.brokers.keys()
        )
    if not is_down:
        return None
    return DirectoryFailed(
        broker=broker.id,
        channels=(Channel.HALT,),
        how="perhaps not readable",
        since_ms=one.unreachable_since_ms,
    )


def _missed(
    summary: ClusterSummary, disks: Mapping[int, BrokerDisks], zookeeper: ZooKeeperImage
) -> DirectoryFailed | None:
    """Return the missed notifications: any broker may have sent one.

    A broker is left out if it has described its directories or restarted since. A broker in KRaft
    mode is left out unless it still has a znode: then it may be rolling back.
    """
    missed_ms = zookeeper.missed_ms
    if missed_ms is None:
        return None
    answered = {each.id for each in disks.values() if (each.answered_ms or 0) > missed_ms}
    restarted = {each.id for each in zookeeper.brokers.values() if each.started_ms > missed_ms}
    restarted |= {each.id for each in summary.brokers if _has_left(each, zookeeper)}
    among = tuple(sorted(member_brokers(summary) - answered - restarted))
    if not among:
        return None
    return DirectoryFailed(broker=None, channels=(Channel.ZNODE,), since_ms=missed_ms, among=among)


def danger(broker: BrokerSummary | None, phase: Phase, *, rolls_back: bool = False) -> str | None:
    """Return how a restart would harm a bad directory's replicas (H1, H2, H3); None: not at all.

    `rolls_back`: a broker in KRaft mode restarts in migration mode next.
    """
    if broker is None or (phase is Phase.ZOOKEEPER and broker.mode is not Mode.KRAFT):
        return harm(Mode.ZOOKEEPER, ())
    if rolls_back:
        return harm(Mode.MIGRATING, ())
    return harm(broker.mode, {state for state, count in broker.replicas.items() if count})


def harm(mode: Mode | None, states: Collection[ReplicaState]) -> str | None:
    """Return how a restart harms the replicas of a bad directory; None: not at all.

    Args:
        mode: of the broker; an unknown one (None) is treated as ZooKeeper mode.
        states: those of the broker's replicas; they matter in KRaft mode only.
    """
    if mode is Mode.KRAFT:
        found = [
            name
            for state, name in (
                (ReplicaState.UNASSIGNED, "be recreated, empty, elsewhere if unassigned (H2)"),
                (ReplicaState.MIGRATING, "not be created if migrating (H3)"),
            )
            if state in states
        ]
        return "would " + " and ".join(found) if found else None
    if mode is Mode.MIGRATING:
        return "would be recreated, empty, in its other directories (H1; in KRaft mode H2, H3)"
    return "would be recreated, empty, elsewhere once the broker restarts in migration mode (H1)"


def restart_advice(broker: int, harms: str | None) -> str:
    """Return what a restart of a broker with a bad directory does; `harms`: of `harm`."""
    if harms is None:
        return (
            f"broker {broker} serves its other directories; a restart in KRaft mode loses no"
            " replica, and after the disk is replaced a restart is needed so that the broker uses"
            " the directory again"
        )
    return f"do not restart broker {broker} before that: its replicas there {harms}"


def advice(
    failed: DirectoryFailed,
    summary: ClusterSummary,
    *,
    log_is_current: bool,
    rolls_back: bool = False,
) -> tuple[str, str]:
    """Return what to do about a failed directory, and what a restart of its broker does meanwhile.

    Headline, hazards, alerts and `what-if` give this advice. It agrees with `danger`: while a
    restart harms, the directory must come back as it was, so an empty disk is no remedy. It may
    have the only copy of what an earlier restart, or a later unclean election, has lost.
    """
    if failed.broker is None:
        named = ", ".join(map(str, failed.among))
        return (
            f"Find the broker whose log directory failed, one of {named}",
            "restart none of them before it is known whether that loses data",
        )
    where = failed.path or (
        "one of its log directories"
        if failed.directory is None
        else f"directory {failed.directory}"
    )
    broker = summary.broker(failed.broker)
    harms = danger(broker, summary.phase, rolls_back=rolls_back)
    disk = f"the disk of broker {failed.broker}: {where} is {failed.how}"
    if harms is not None:
        return f"Restore {disk}", restart_advice(failed.broker, harms)
    keep = why_kept(failed, summary, log_is_current=log_is_current)
    if keep:
        return f"Keep {disk}", keep
    return f"Replace {disk}", restart_advice(failed.broker, harms) + _IF_FULL


def why_kept(failed: DirectoryFailed, summary: ClusterSummary, *, log_is_current: bool) -> str:
    """Return why the disk of a failed directory may have the only copy of records; "": it has not.

    A runbook that replaces it shows this, too. Only the metadata log shows the leaders.
    """
    broker = summary.broker(failed.broker)
    losses = () if summary.disks is None else summary.disks.losses
    copy = "make it read-only, and copy it before it is replaced"
    if losses or summary.unclean or (broker and broker.gone):
        return f"it may have the only copy of records that are lost: {copy}"
    if summary.leaderless:
        return (
            f"{count(summary.leaderless, 'partition')} without a leader may have the last in-sync"
            " replica on it, and an empty disk in its place erases the other replicas, too:"
            f" {copy}{_IF_FULL}"
        )
    if not log_is_current:
        return (
            "whether partitions lost their last in-sync replica with it is unknown, because the"
            f" metadata log is not current: {copy}{_IF_FULL}"
        )
    places = summary.places
    misplaced = {*places.misplaced, *(place for place, _ in places.unnamed)}
    if any((e.broker, e.path) == (failed.broker, failed.path) for e in misplaced):
        return (
            "replicas in it are assigned to another directory, and would be created there, empty:"
            f" {copy}{_IF_FULL}"
        )
    return ""


_IF_FULL: Final = "; if the disk is full, free space on it and restart the broker instead"


def last_ones(every: Collection[str], failed: Collection[str | None]) -> tuple[str, ...] | None:
    """Return the usable directories if one or none of several remains; None: more remain."""
    left = tuple(each for each in every if each not in failed)
    return left if len(every) > 1 and len(left) < 2 else None
