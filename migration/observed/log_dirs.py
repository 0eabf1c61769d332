"""The state of the brokers' disks: directories, their content, cut-off replicas, lost records.

Interprets the facts of `migration.observed.facts`.
"""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.facts import (
    CutOffEnd,
    DiskFact,
    DisksSeen,
    DisksUnreachable,
    FutureSeen,
    LogDirSeen,
    OffsetsFell,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
)
from migration.observed.probed import Broker, LogDir, Unknown


class LogDirState(enum.StrEnum):
    """The known state of a directory."""

    ONLINE = "online"
    OFFLINE = "offline"
    UNKNOWN = "unknown"


STORAGE_ERROR: Final = 56
"""KAFKA_STORAGE_ERROR: the directory is offline."""
FAILURE_TIMEOUT: Final = "log.dir.failure.timeout.ms"
"""How long a broker in KRaft mode tries to report a failed directory before it shuts down."""
FAILURE_TIMEOUT_MS: Final = 30_000
"""Kafka's default."""
NO_LAG: Final = -1
"""The lag of a future replica whose current replica is not online."""
NAMED_MAX: Final = 200
"""The number of a directory's replicas that are stored by name; all are counted."""
NOT_CLEANED: Final = (
    "Kafka deletes and compacts nothing in the original until the broker restarts (KAFKA-16114,"
    " KAFKA-19458)"
)
"""What a move leaves whose copy is dropped before it has arrived.

A move pauses the cleaner of its replica (ReplicaManager.alterReplicaLogDirs); only its end resumes
it (LogManager.replaceCurrentWithFutureLog), and neither another target nor a failed directory does
(ReplicaManager.handleLogDirFailure). The pauses are counted: a later move resumes its own alone.
Observed on 3.9.1: 25 s after a cancellation, retention of 15 s had emptied another topic and
deleted nothing of this one; the start of the broker deleted it."""
_ENDS: Final = {
    CutOffEnd.READABLE: EventKind.REPLICAS_REACHABLE_AGAIN,
    CutOffEnd.EMPTY: EventKind.REPLICAS_NOT_BACK,
    CutOffEnd.RECREATED: EventKind.REPLICAS_GIVEN_UP,
    CutOffEnd.ELSEWHERE: EventKind.REPLICAS_ELSEWHERE,
    CutOffEnd.NOT_HOSTED: EventKind.REPLICAS_NOT_HOSTED,
}
_TOLD_MAX: Final = 20
_STUCK_POLLS: Final = 3
_STUCK_MS: Final = 15_000
"""A broker that has just started is polled every second; the ordinary interval is 10 s."""
_GAP_MS: Final = 60_000
"""A longer time between two polls may hide progress of a move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """The replicas of a directory when it was last readable.

    Attributes:
        replicas: number of replicas; `sole` of them are the only replica of their partition.
        named: the sole ones first, then the others, up to `NAMED_MAX`.
        directory_id: of a directory whose replicas were recreated; None: unknown.
    """

    since_ms: int
    replicas: int
    sole: int
    bytes: int
    named: tuple[ReplicaSeen, ...]
    directory_id: str | None = None

    def sole_names(self) -> tuple[str, ...]:
        """Return the partitions whose only replica this is, among the named ones."""
        return tuple(name(each) for each in self.named if each.replicas == 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Acknowledged records that are lost (`OffsetsFell`); `now_end` to `was_end`, at least.

    If the log was recreated, new records may have replaced those before `now_end`.
    """

    topic: str
    partition: int
    was_end: int
    now_end: int
    seen_ms: int
    broker: int | None = None


class _OfBroker(Protocol):
    @property
    def broker(self) -> int | None: ...


Lost = TypeVar("Lost", bound=_OfBroker)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryMove:
    """A future replica, and since when its lag, or its size, has stayed the same.

    One that is behind, or empty, may wait until the broker has copied another one: the time begins
    again when another move of the broker goes on or ends.

    Attributes:
        path: of the directory that it moves to.
        replica: as of the last poll.
        since_ms: since when, as polled.
        polls: number of polls since, without a gap.
    """

    path: str
    replica: FutureSeen
    since_ms: int
    polls: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDisks:
    """One broker's directories.

    Attributes:
        answered_ms: when it last answered; None: never.
        unreachable: why it does not answer now; None: it does.
        unreachable_since_ms: since when.
        log_dirs: as last collected, in the order of their paths; `readable` is of the last poll.
        cut_off: path -> its unreachable replicas.
        moves: the named future replicas, by path.
        offline_since_ms: path -> since when the broker reports it offline.
        failure_timeout_ms: `FAILURE_TIMEOUT`; None: unknown.
        empty: ids of directories that had no replica when the broker last answered with them.
        recreated: path -> its replicas that the broker has, with fewer bytes, in another directory
            since it no longer describes this one.
    """

    id: int
    answered_ms: int | None = None
    unreachable: str | None = None
    unreachable_since_ms: int | None = None
    log_dirs: tuple[LogDirSeen, ...] = ()
    cut_off: Mapping[str, CutOff] = field(default_factory=dict)
    moves: tuple[DirectoryMove, ...] = ()
    offline_since_ms: Mapping[str, int] = field(default_factory=dict)
    failure_timeout_ms: int | None = None
    empty: frozenset[str] = frozenset()
    recreated: Mapping[str, CutOff] = field(default_factory=dict)

    @property
    def futures(self) -> int:
        """The number of replicas that move between directories.

        A future replica whose current replica is in a failed directory does not move.
        """
        abandoned = sum(each.replica.lag == NO_LAG for each in self.moves)
        is_damaged = any(map(is_bad, self.log_dirs))
        return sum(each.futures for each in self.log_dirs) - is_damaged * abandoned

    @property
    def stuck(self) -> tuple[DirectoryMove, ...]:
        """The moves that made no progress over three polls, or caught up and did not end."""
        last_ms = self.answered_ms or 0
        return tuple(
            each
            for each in self.moves
            if each.polls >= _STUCK_POLLS and last_ms - each.since_ms >= _STUCK_MS
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DisksImage:
    """All brokers' disks; `losses`: the latest ones, newest last."""

    brokers: Mapping[int, BrokerDisks] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()


def name(replica: ReplicaSeen | FutureSeen) -> str:
    """Return a replica's partition as Kafka prints it."""
    return f"{replica.topic}-{replica.partition}"


def behind(lag: int) -> str:
    """Return how far a future replica is, by its lag."""
    if lag == NO_LAG:
        return "its current replica is not online"
    return f"{lag} messages behind" if lag > 0 else "caught up, not promoted"


def is_bad(log_dir: LogDirSeen) -> bool:
    """Return whether a directory is known to be unusable."""
    return log_dir.error == STORAGE_ERROR or log_dir.readable is False


def is_undescribed(log_dir: LogDirSeen) -> bool:
    """Return whether the broker could not describe it, and nothing else shows that it is usable.

    ReplicaManager.describeLogDirs reports any error other than an offline directory, such as a disk
    that has just failed, as an error of the request.
    """
    return log_dir.error not in (0, STORAGE_ERROR) and log_dir.readable is not True


def observe(image: DisksImage, fact: DiskFact) -> tuple[DisksImage, tuple[Event, ...]]:
    collected = EventCollector(Source.LOG_DIRS, fact.seen_ms)
    if isinstance(fact, OffsetsFell):
        return _lost(image, fact, collected), collected.events
    before = image.brokers.get(fact.broker, BrokerDisks(id=fact.broker))
    match fact:
        case DisksSeen():
            after = _answered(before, fact, collected)
        case DisksUnreachable():
            after = _unreachable(before, fact, collected)
        case ReplicasCutOff():
            after = _cut_off(before, fact, collected)
        case ReplicasBack():
            after = _back(before, fact, collected)
    return replace(image, brokers={**image.brokers, fact.broker: after}), collected.events


def _answered(before: BrokerDisks, fact: DisksSeen, collected: EventCollector) -> BrokerDisks:
    if before.unreachable is not None and before.unreachable_since_ms is not None:
        collected.add(
            EventKind.DISKS_ANSWER_AGAIN,
            fact.broker,
            silent_ms=fact.seen_ms - before.unreachable_since_ms,
        )
    _compare(before, fact.log_dirs, collected)
    return replace(
        before,
        answered_ms=fact.seen_ms,
        unreachable=None,
        unreachable_since_ms=None,
        log_dirs=fact.log_dirs,
        moves=tuple(_moves(before, fact)),
        offline_since_ms={
            each.path: before.offline_since_ms.get(each.path, fact.seen_ms)
            for each in fact.log_dirs
            if each.error == STORAGE_ERROR
        },
        failure_timeout_ms=fact.failure_timeout_ms or before.failure_timeout_ms,
        empty=_empty(before, fact),
        recreated=_without(before.recreated, *_filled_again(before.recreated, fact.log_dirs)),
    )


def _without(each: Mapping[str, CutOff], *paths: str) -> Mapping[str, CutOff]:
    return {path: cut_off for path, cut_off in each.items() if path not in paths}


def _filled_again(recreated: Mapping[str, CutOff], log_dirs: Sequence[LogDirSeen]) -> Iterator[str]:
    """Yield the missing directories that are back: at their path, or at another with their id.

    An empty one is another disk.
    """
    for path, missing in recreated.items():
        for each in log_dirs:
            is_it = each.path == path or (each.directory_id or "") == missing.directory_id
            if is_it and each.error == 0 and each.replicas >= missing.sole:
                yield path


def _empty(before: BrokerDisks, fact: DisksSeen) -> frozenset[str]:
    """Return the next `empty`.

    A directory that is no longer described is left out if a replica may have come into it since its
    last answer: that answer is old, or the broker has more replicas now.
    """
    ids = {each.directory_id for each in fact.log_dirs}
    used = {e.directory_id for e in fact.log_dirs if e.error or e.replicas or e.futures}
    silent_ms = before.unreachable_since_ms or fact.seen_ms
    is_old = silent_ms - (before.answered_ms or 0) > _GAP_MS
    was, now = (sum(e.replicas for e in each.log_dirs) for each in (before, fact))
    doubted = {each.directory_id for each in before.log_dirs} if is_old or now > was else set()
    empty = {each for each in ids - used if each is not None}
    return frozenset(empty | before.empty - ids - doubted)


def _moves(before: BrokerDisks, fact: DisksSeen) -> Iterator[DirectoryMove]:
    is_followed = before.unreachable is None and fact.seen_ms - (before.answered_ms or 0) <= _GAP_MS
    known = {(each.path, name(each.replica)): each for each in before.moves if is_followed}
    now = {(log_dir.path, name(each)): each for log_dir in fact.log_dirs for each in log_dir.moving}
    # A broker's thread copies one replica after the other (ReplicaAlterLogDirsThread).
    has_one_gone_on = any(
        at not in now or has_gone_on(was.replica, now[at]) for at, was in known.items()
    )
    for at, each in now.items():
        was = known.get(at)
        waits_its_turn = has_one_gone_on and (each.lag > 0 or each.lag == each.bytes == 0)
        if was is None or waits_its_turn or has_gone_on(was.replica, each):
            yield DirectoryMove(path=at[0], replica=each, since_ms=fact.seen_ms)
        else:
            yield replace(was, replica=each, polls=was.polls + 1)


def has_gone_on(was: FutureSeen, now: FutureSeen) -> bool:
    """Return whether a future replica has copied records, and does not only follow its source."""
    return was.lag != now.lag and was.bytes != now.bytes


def _unreachable(
    before: BrokerDisks, fact: DisksUnreachable, collected: EventCollector
) -> BrokerDisks:
    if before.unreachable is None:
        collected.add(EventKind.DISKS_UNREACHABLE, fact.broker, reason=fact.why)
    since = before.unreachable_since_ms
    looked_at = {each.path: each for each in fact.log_dirs}
    # Only the directories that were read on the host itself have a new state.
    known = before.log_dirs or fact.log_dirs
    log_dirs = tuple(_looked_at(each, looked_at.get(each.path)) for each in known)
    _compare(before, log_dirs, collected)
    return replace(
        before,
        unreachable=fact.why,
        unreachable_since_ms=fact.seen_ms if since is None else since,
        log_dirs=log_dirs,
    )


def _looked_at(known: LogDirSeen, now: LogDirSeen | None) -> LogDirSeen:
    """Return a directory of a broker that is down, updated with its state on the host.

    An offline directory that is readable again has been repaired: a running broker does not use it
    again, but a restarted broker does. One that is not read now may have failed since: it is no
    longer known to be readable. The fault of its file remains until the file is read again.
    """
    if now is None:
        return known._replace(readable=None) if known.readable else known
    return known._replace(
        readable=now.readable,
        directory_id=now.directory_id if now.readable else known.directory_id,
        error=0 if now.readable else known.error,
        trouble=now.trouble,
        version=now.version,
    )


def _compare(
    before: BrokerDisks, log_dirs: tuple[LogDirSeen, ...], collected: EventCollector
) -> None:
    was = {each.path: each for each in before.log_dirs}
    for each in log_dirs:
        known = was.pop(each.path, None)
        if known is None and before.log_dirs:
            collected.add(EventKind.LOG_DIR_APPEARED, before.id, path=each.path)
        if is_bad(each) and (known is None or not is_bad(known)):
            why = "offline" if each.error == STORAGE_ERROR else "not readable on its host"
            collected.add(
                EventKind.LOG_DIR_OFFLINE, before.id, path=each.path, reason=why, error=each.error
            )
        elif known is not None and is_bad(known) and not is_bad(each):
            collected.add(EventKind.LOG_DIR_ONLINE, before.id, path=each.path)
    for path in was:
        collected.add(EventKind.LOG_DIR_VANISHED, before.id, path=path)


def _counted(since_ms: int, replicas: Iterable[ReplicaSeen]) -> CutOff:
    ordered = sorted(replicas, key=lambda each: (each.replicas, each.topic, each.partition))
    return CutOff(
        since_ms=since_ms,
        replicas=len(ordered),
        sole=sum(each.replicas == 1 for each in ordered),
        bytes=sum(each.bytes for each in ordered),
        named=tuple(ordered[:NAMED_MAX]),
    )


def _cut_off(before: BrokerDisks, fact: ReplicasCutOff, collected: EventCollector) -> BrokerDisks:
    cut_off = _counted(fact.seen_ms, fact.replicas)
    if before.cut_off.get(fact.path) == cut_off:  # a kill while the fact was appended repeats it
        return before
    collected.add(
        EventKind.REPLICAS_CUT_OFF,
        fact.broker,
        path=fact.path,
        replicas=cut_off.replicas,
        bytes=cut_off.bytes,
        sole=cut_off.sole,
        sole_replicas=list(cut_off.sole_names()[:_TOLD_MAX]),
    )
    return replace(before, cut_off={**before.cut_off, fact.path: cut_off})


def _back(before: BrokerDisks, fact: ReplicasBack, collected: EventCollector) -> BrokerDisks:
    recreated = before.recreated
    if fact.recreated and fact.path not in {each.path for each in before.log_dirs}:
        missing = replace(_counted(fact.seen_ms, fact.recreated), directory_id=fact.directory_id)
        recreated = {**recreated, fact.path: missing}
    if fact.path not in before.cut_off and recreated == before.recreated:
        return before
    why = fact.why
    if why is None:
        is_offline = any(each.path == fact.path and is_bad(each) for each in before.log_dirs)
        why = CutOffEnd.RECREATED if is_offline else CutOffEnd.READABLE
    collected.add(_ENDS[why], fact.broker, path=fact.path)
    return replace(before, cut_off=_without(before.cut_off, fact.path), recreated=recreated)


def _lost(image: DisksImage, fact: OffsetsFell, collected: EventCollector) -> DisksImage:
    loss = Loss(
        topic=fact.topic,
        partition=fact.partition,
        was_end=fact.was_end,
        now_end=fact.now_end,
        seen_ms=fact.seen_ms,
        broker=fact.broker,
    )
    if loss in image.losses:  # a kill while the fact was appended repeats it
        return image
    collected.add(
        EventKind.RECORDS_LOST,
        fact.broker,
        topic=fact.topic,
        partition=fact.partition,
        first_lost_offset=fact.now_end,
        last_lost_offset=fact.was_end - 1,
        start_offset_now=fact.now_start,
        end_offset_seen_ms=fact.was_seen_ms,
    )
    return replace(image, losses=latest((*image.losses, loss)))


def latest(losses: Sequence[Lost]) -> tuple[Lost, ...]:
    """Return the latest losses; the last one of each broker stays, and so does its hazard."""
    last = {each.broker: at for at, each in enumerate(losses)}
    others = [at for at, each in enumerate(losses) if last[each.broker] != at]
    dropped = set(others[: max(0, len(losses) - NAMED_MAX)])
    return tuple(each for at, each in enumerate(losses) if at not in dropped)


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
