"""Compares a broker's answer with the stored state: the resulting facts, and the new state.

Pure. A directory is **cut off** once it is offline (error 56), disappears from the answer, or
becomes unreadable on this host, until it answers without error and is not unreadable. It is not
unreadable if only its `meta.properties` is bad, and the folders of its replicas are there. While
its broker is down, becoming readable ends this only if the directory was unreadable before, has its
known id, and has a folder of each replica: the broker would create the others again, empty. Errors
other than 56 mean that the broker could not answer, so they change nothing.

The content of a directory that was offline at every poll is inferred: METADATA lists the partitions
that the broker hosts, and those that its other directories do not show are in the offline one, or
nowhere, as when the broker refused to create them (H3). With several such directories it is unknown
which one has a replica; the fact then names them all in place of a path.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from migration.observed.facts import (
    CutOffEnd,
    DiskFact,
    DisksSeen,
    DisksUnreachable,
    FutureSeen,
    LogDirSeen,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
)
from migration.observed.log_dirs import NAMED_MAX, STORAGE_ERROR
from migration.values.foreign import INT64_MAX
from streams.kafka.broker_values import (
    LogDirAnswer,
    ReplicaPlace,
    TopicPartition,
)
from streams.log_dirs.remembered import CutOffDir, KnownBroker, KnownDir, KnownPartition, LocalDir

_FINE: Final = (True, None)
_VIEW_OLD_MS_MAX: Final = 30_000
"""The maximum age of a broker's view, which may lack topics created since."""
_SMALL: Final = 0.01
"""A change of a size by less than this share is ignored."""

Disks: TypeAlias = DisksSeen | DisksUnreachable
_NEVER: Final = KnownDir(0, None, None, 0, None, False, ())


class Hosted(NamedTuple):
    """The brokers that have replicas of each partition.

    Attributes:
        replicas: the brokers of each partition of the topics that the principal may describe.
        as_of_ms: the time of this state, wall clock.
        deleted: topics that do not exist.
    """

    replicas: Mapping[TopicPartition, Collection[int]]
    as_of_ms: int
    deleted: Collection[str] = ()

    def excludes(self, broker: int, at: TopicPartition) -> bool:
        """Return whether it is known that the broker has no replica of a partition."""
        topic, _ = at
        is_known = topic in self.deleted or (topic, 0) in self.replicas
        return is_known and broker not in self.replicas.get(at, ())


class Inputs(NamedTuple):
    """The other data that a comparison requires.

    Attributes:
        broker: its id.
        now_ms: the wall clock.
        local_dirs: the local state of its paths, by path; empty on another host.
        partitions: for the end offset and the number of replicas.
        hosted: as reported by a broker that has been up for a while; None: no report yet.
        listed: the partitions that the broker hosts according to the METADATA of its poll; None:
            unknown.
        failure_timeout_ms: the broker's `log.dir.failure.timeout.ms`; None: unknown.
    """

    broker: int
    now_ms: int
    local_dirs: Mapping[str, LocalDir]
    partitions: Mapping[TopicPartition, KnownPartition]
    hosted: Hosted | None = None
    listed: Collection[TopicPartition] | None = None
    failure_timeout_ms: int | None = None


class Compared(NamedTuple):
    """The result.

    Attributes:
        disks: the current state, whether or not it differs from the last one.
        facts: other changes.
        known: the state to store.
        good: the paths that answered without error.
        whole: whether those are all paths of the broker.
    """

    disks: DisksSeen | DisksUnreachable
    facts: tuple[DiskFact, ...]
    known: KnownBroker
    good: frozenset[str] = frozenset()
    whole: bool = False


def answered(known: KnownBroker, answer: Sequence[LogDirAnswer], inputs: Inputs) -> Compared:
    change = _Change(known, inputs)
    for each in answer:
        change.describe(each)
    good = {each.path for each in answer if change.is_good(each.path)}
    offline = {each.path for each in answer if each.error == STORAGE_ERROR}
    paths = {each.path for each in answer}
    here = {of: at for e in answer if e.path in good for of, at in _current(e.replicas).items()}
    seen = []
    for each in answer:
        seen.append(change.shown(each.path, each.replicas))
        if each.path in good:
            change.restore(each.path, change.why_over(each, here))
        elif each.error == 0 or (each.path in offline and not change.is_unseen(each.path)):
            replicas = each.replicas if each.error == 0 else change.replicas(each.path)
            change.cut(each.path, replicas)
    for path in known.log_dirs.keys() - paths if answer else ():
        change.cut(path, change.replicas(path))
    if all(each.error == 0 or each.path in offline for each in answer):
        change.infer(offline, here)
    change.settle(here, paths)
    if answer:
        change.forget_all_but(paths)
    timeout_ms = inputs.failure_timeout_ms
    disks = DisksSeen(inputs.now_ms, inputs.broker, tuple(sorted(seen)), timeout_ms)
    result = change.result(disks)
    whole = bool(answer) and len(good) == len(answer) and not result.known.cut_off
    return result._replace(good=frozenset(good), whole=whole)


def unanswered(known: KnownBroker, why: str, inputs: Inputs) -> Compared:
    """Return the result for a broker that does not answer, from its disks on this host."""
    local_dirs = {
        path: local if _is_whole(known, path, local) else LocalDir(is_own=False)
        for path, local in inputs.local_dirs.items()
    }
    change = _Change(known, inputs._replace(local_dirs=local_dirs))
    seen = []
    for path in sorted(known.log_dirs):
        readable = change.readable(path)
        if readable is None:
            continue
        change.read_local(path)
        if not readable:
            change.cut(path, change.replicas(path))
        elif change.was_unreadable(path):
            change.restore(path, CutOffEnd.READABLE)
        seen.append(change.shown(path, change.replicas(path)))
    change.settle({}, known.log_dirs.keys())
    return change.result(DisksUnreachable(inputs.now_ms, inputs.broker, why, tuple(seen)))


def _is_whole(known: KnownBroker, path: str, local: LocalDir) -> bool:
    """Return whether the path is the known directory, with its replicas if it was cut off.

    Without them, another id shows another disk, whose broker was stopped first. The same id does
    not: a replica may have been moved since the last answer.
    """
    cut, last = known.cut_off.get(path), known.log_dirs.get(path, _NEVER)
    is_known = last.directory_id in (None, local.directory_id)
    if cut is None:
        return not local.is_own or is_known or _has_logs(local, _current(last.replicas))
    return is_known and _has_logs(local, map(_place, cut.fact.replicas))


def _has_logs(local: LocalDir, replicas: Iterable[TopicPartition]) -> bool:
    return {f"{topic}-{partition}" for topic, partition in replicas} <= local.folders


class _Change:
    """The state of one comparison."""

    def __init__(self, known: KnownBroker, inputs: Inputs) -> None:
        self._before = known
        self._inputs = inputs
        self._log_dirs = dict(known.log_dirs)
        self._cut_off = dict(known.cut_off)
        self._facts: list[DiskFact] = []

    def result(self, disks: DisksSeen | DisksUnreachable) -> Compared:
        return Compared(disks, tuple(self._facts), KnownBroker(self._log_dirs, self._cut_off))

    def readable(self, path: str) -> bool | None:
        """Return None if this is unknown; never False for a path that was not verified before."""
        local, known = self._inputs.local_dirs.get(path), self._known(path)
        if local is None or not (local.is_own or known.local):
            return None
        is_served = local.has_bad_file and known.error != STORAGE_ERROR
        return local.is_own or (is_served and _has_logs(local, _current(known.replicas)))

    def is_good(self, path: str) -> bool:
        return self._known(path).error == 0 and self.readable(path) in _FINE

    def replicas(self, path: str) -> tuple[ReplicaPlace, ...]:
        return self._known(path).replicas

    def was_unreadable(self, path: str) -> bool:
        return path in self._cut_off and self._cut_off[path].unreadable

    def read_local(self, path: str) -> None:
        """Apply this host's state of the path; the last id remains when the host shows none."""
        known, local = self._known(path), self._inputs.local_dirs.get(path)
        self._log_dirs[path] = known._replace(
            local=local is not None and (local.is_own or known.local),
            directory_id=None
            if local is None
            else (local.directory_id if local.is_own else known.directory_id),
        )

    def describe(self, each: LogDirAnswer) -> None:
        self.read_local(each.path)
        known = self._known(each.path)
        self._log_dirs[each.path] = known._replace(
            error=each.error,
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
            replicas=each.replicas if each.error == 0 else known.replicas,
        )
        if self.is_good(each.path):
            now = self._log_dirs[each.path]._replace(seen_ms=self._inputs.now_ms)
            self._log_dirs[each.path] = now

    def shown(self, path: str, replicas: Sequence[ReplicaPlace]) -> LogDirSeen:
        known, local = self._known(path), self._inputs.local_dirs.get(path)
        readable = self.readable(path)
        trouble = local.trouble if local and not local.is_own and readable else None
        current = [each for each in replicas if not each.future]
        futures = sorted(
            FutureSeen(each.topic, each.partition, each.bytes, each.lag)
            for each in replicas
            if each.future
        )
        return LogDirSeen(
            path=path,
            error=known.error,
            total_bytes=known.total_bytes,
            usable_bytes=known.usable_bytes,
            replicas=len(current),
            bytes=min(sum(each.bytes for each in current), INT64_MAX),
            futures=len(futures),
            future_lag_max=max((each.lag for each in futures), default=0),
            directory_id=None if trouble else known.directory_id,
            readable=readable,
            moving=tuple(futures[:NAMED_MAX]),
            trouble=trouble,
            version=local.version if local else None,
        )

    def cut(self, path: str, replicas: Sequence[ReplicaPlace]) -> None:
        """Cut off the given replicas; if the path is cut off already, update only `unreadable`."""
        before = self._cut_off.get(path)
        unreadable = self.readable(path) is False or self.was_unreadable(path)
        fact = self._fact(path, replicas) if before is None else before.fact
        self._cut_off[path] = CutOffDir(fact, unreadable)

    def is_unseen(self, path: str) -> bool:
        """Return whether the path never answered without error: its replicas are unknown."""
        return self._known(path).seen_ms == 0 and path not in self._before.cut_off

    def infer(self, offline: Collection[str], here: Collection[TopicPartition]) -> None:
        """Cut off the replicas that must be in directories that were offline at every poll.

        The set of directories that may contain them changes as others become known.
        """
        unseen_now = sorted(each for each in offline if self.is_unseen(each))
        name = " or ".join(unseen_now)
        missing: set[TopicPartition] = set()
        for several in self._cut_off.keys() - self._log_dirs.keys() - {name}:
            missing.update(map(_place, self._cut_off.pop(several).fact.replicas))
            self._facts.append(self._back(several, CutOffEnd.READABLE))
        if not unseen_now or name in self._cut_off:
            return
        reported = {_place(r) for cut in self._cut_off.values() for r in cut.fact.replicas}
        hosted = None if self._inputs.hosted is None else self._inputs.hosted.replicas
        # A replica that its brokers did not have some seconds ago may not be on any disk yet.
        missing.update(
            each
            for each in self._inputs.listed or ()
            if hosted is None or self._inputs.broker in hosted.get(each, ())
        )
        self.cut(name, [ReplicaPlace(*each, 0, 0, False) for each in missing - {*here} - reported])

    def why_over(self, answer: LogDirAnswer, here: Collection[TopicPartition]) -> CutOffEnd:
        """Return why the replicas of a directory that answers without error are not cut off.

        `here`: the replicas in all such directories. An inferred replica, which has no size, may
        never have been in it.
        """
        cut, there = self._cut_off.get(answer.path), _current(answer.replicas).keys()
        if cut is None or not cut.fact.replicas:
            return CutOffEnd.READABLE
        gone = self._not_hosted(cut.fact)
        absent = [each for each in cut.fact.replicas if _place(each) not in there | gone]
        if any(each.bytes and _place(each) not in here for each in absent):
            return CutOffEnd.EMPTY
        if any(_place(each) in here for each in absent):
            return CutOffEnd.RECREATED
        are_gone = gone - there >= {*map(_place, cut.fact.replicas)}
        return CutOffEnd.NOT_HOSTED if are_gone else CutOffEnd.READABLE

    def restore(self, path: str, why: CutOffEnd) -> None:
        if self._cut_off.pop(path, None) is not None:
            self._log_dirs[path] = self._known(path)._replace(error=0)
            self._facts.append(self._back(path, why))

    def settle(self, elsewhere: Mapping[TopicPartition, int], described: Collection[str]) -> None:
        """Drop replicas that are no longer cut off, and add facts for changes of the others.

        Args:
            elsewhere: the sizes of the replicas in the good directories, in bytes. One that was
                moved there since the last poll is not smaller.
            described: the paths of its directories. The content of another one may have a new path.
        """
        for path, cut in sorted(self._cut_off.items()):
            before = self._before.cut_off.get(path)
            gone = {*elsewhere, *self._not_hosted(cut.fact)}
            left = tuple(each for each in cut.fact.replicas if _place(each) not in gone)
            if not left:
                del self._cut_off[path]
                last = self._known(path)
                if path in self._log_dirs:
                    self._log_dirs[path] = last._replace(replicas=())
                here = [each for each in cut.fact.replicas if _place(each) in elsewhere]
                smaller = tuple(each for each in here if elsewhere[_place(each)] < each.bytes)
                if before is not None or smaller:
                    was = _current(last.replicas).items()
                    is_whole = was and all(elsewhere.get(at, size) >= size for at, size in was)
                    why = CutOffEnd.RECREATED if here else CutOffEnd.NOT_HOSTED
                    if here and is_whole and not smaller and path not in described:
                        why = CutOffEnd.ELSEWHERE
                    back = self._back(path, why)._replace(directory_id=last.directory_id)
                    self._facts.append(back._replace(recreated=smaller))
            elif before is None or left != cut.fact.replicas:
                fact = cut.fact._replace(seen_ms=self._inputs.now_ms, replicas=left)
                self._cut_off[path] = cut._replace(fact=fact)
                self._facts.append(fact)

    def forget_all_but(self, paths: Collection[str]) -> None:
        """Drop paths that the broker no longer names, unless their replicas are cut off."""
        for path in self._log_dirs.keys() - paths - self._cut_off.keys():
            del self._log_dirs[path]

    def _known(self, path: str) -> KnownDir:
        return self._log_dirs.get(path, _NEVER)

    def _back(self, path: str, why: CutOffEnd) -> ReplicasBack:
        return ReplicasBack(self._inputs.now_ms, self._inputs.broker, path, why)

    def _not_hosted(self, fact: ReplicasCutOff) -> set[TopicPartition]:
        """Return partitions deleted or moved to other brokers, by a view recent enough to know."""
        hosted, broker = self._inputs.hosted, self._inputs.broker
        if hosted is None or hosted.as_of_ms - fact.seen_ms < _VIEW_OLD_MS_MAX:
            return set()
        return {at for at in map(_place, fact.replicas) if hosted.excludes(broker, at)}

    def _fact(self, path: str, replicas: Sequence[ReplicaPlace]) -> ReplicasCutOff:
        known, nothing = self._inputs.partitions, KnownPartition(0)
        seen = []
        for each in replicas:
            partition = known.get((each.topic, each.partition), nothing)
            if not each.future:
                end, count = partition.end_offset, partition.replicas
                seen.append(ReplicaSeen(each.topic, each.partition, each.bytes, end, count))
        return ReplicasCutOff(
            self._inputs.now_ms, self._inputs.broker, path, tuple(sorted(seen, key=_place))
        )


def _current(replicas: Iterable[ReplicaPlace]) -> dict[TopicPartition, int]:
    """Return the size of each current replica, in bytes."""
    return {(each.topic, each.partition): each.bytes for each in replicas if not each.future}


def _place(replica: ReplicaSeen) -> TopicPartition:
    return replica.topic, replica.partition


def is_news(last: Disks | None, now: Disks) -> bool:
    """Return whether to append the answer at once, and not at the next report of all brokers.

    Each poll of a move counts, even if nothing moved.
    """
    match last, now:
        case DisksSeen(), DisksSeen():
            return (
                any(each.futures for each in now.log_dirs)
                or now.seen_ms < last.seen_ms  # the clock was set back
                or _differ(last.log_dirs, now.log_dirs)
            )
        case DisksUnreachable(), DisksUnreachable():
            return now.why != last.why or now.log_dirs != last.log_dirs
        case _:
            return True


def _differ(last: tuple[LogDirSeen, ...], now: tuple[LogDirSeen, ...]) -> bool:
    if [_shape(each) for each in last] != [_shape(each) for each in now]:
        return True
    return any(
        _grew(was, size)
        for before, after in zip(last, now, strict=True)
        for was, size in zip(_sizes(before), _sizes(after), strict=True)
    )


def _shape(log_dir: LogDirSeen) -> LogDirSeen:
    return log_dir._replace(total_bytes=None, usable_bytes=None, bytes=0)


def _sizes(log_dir: LogDirSeen) -> tuple[int | None, ...]:
    return log_dir.total_bytes, log_dir.usable_bytes, log_dir.bytes


def _grew(was: int | None, size: int | None) -> bool:
    if was is None or size is None:
        return was != size
    return size != was and abs(size - was) >= _SMALL * was
