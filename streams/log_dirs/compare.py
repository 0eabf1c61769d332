"""Compares a broker's answer with the stored state: the resulting facts, and the new state.

Pure. A directory is **cut off** from when it is offline (error 56), disappears from the answer, or
becomes unreadable on this host, until it answers without error and is not unreadable. While its
broker is down, becoming readable ends this only if the directory was unreadable before. Errors
other than 56 mean that the broker could not answer, so they change nothing.

The content of a directory that was offline at every poll is inferred (`unseen`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from migration.observed.facts import (
    DiskFact,
    DisksSeen,
    DisksUnreachable,
    LogDirSeen,
    ReplicasBack,
    ReplicasCutOff,
    ReplicaSeen,
)
from migration.values.foreign import INT64_MAX
from streams.kafka.broker_values import (
    KAFKA_STORAGE_ERROR,
    LogDirAnswer,
    ReplicaPlace,
    TopicPartition,
)
from streams.log_dirs import unseen
from streams.log_dirs.remembered import CutOff, KnownBroker, KnownDir, KnownPartition, Look

_FINE: Final = (True, None)
_VIEW_OLD_MS_MAX: Final = 30_000
"""The maximum age of a broker's view, which may lack topics created since."""
_NEVER: Final = KnownDir(0, None, None, 0, None, False, ())


class Hosted(NamedTuple):
    """The brokers that have replicas of each partition.

    Attributes:
        replicas: the brokers of each partition.
        as_of_ms: the time of this state, wall clock.
    """

    replicas: Mapping[TopicPartition, Collection[int]]
    as_of_ms: int


class Around(NamedTuple):
    """The other data that a comparison requires.

    Attributes:
        broker: its id.
        now_ms: the wall clock.
        looks: the local state of its paths, by path; empty on another host.
        partitions: for the end offset and the number of replicas.
        hosted: as reported by a broker that has been up for a while; None: no report yet.
        listed: the partitions that the broker hosts according to the METADATA of its poll; None:
            unknown.
    """

    broker: int
    now_ms: int
    looks: Mapping[str, Look]
    partitions: Mapping[TopicPartition, KnownPartition]
    hosted: Hosted | None = None
    listed: Collection[TopicPartition] | None = None


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


def answered(known: KnownBroker, answer: Sequence[LogDirAnswer], around: Around) -> Compared:
    """Compare a broker's answer with its stored state."""
    change = _Change(known, around)
    good = {each.path for each in answer if each.error == 0 and change.readable(each.path) in _FINE}
    offline = {each.path for each in answer if each.error == KAFKA_STORAGE_ERROR}
    seen = []
    for each in answer:
        change.describe(each, good=each.path in good)
        seen.append(change.shown(each.path, each.replicas))
        if each.path in good:
            change.give_back(each.path)
        elif each.error == 0 or (each.path in offline and not change.is_unseen(each.path)):
            lay = each.replicas if each.error == 0 else change.replicas(each.path)
            change.cut(each.path, lay)
    for path in known.log_dirs.keys() - {each.path for each in answer} if answer else ():
        change.cut(path, change.replicas(path))
    lying = [r for each in answer if each.path in good for r in each.replicas if not r.future]
    here = {(each.topic, each.partition) for each in lying}
    if all(each.error == 0 or each.path in offline for each in answer):
        change.infer(offline, here)
    change.settle(here)
    if answer:
        change.forget_all_but({each.path for each in answer})
    disks = DisksSeen(around.now_ms, around.broker, tuple(sorted(seen)))
    result = change.result(disks)
    whole = bool(answer) and len(good) == len(answer) and not result.known.cut_off
    return result._replace(good=frozenset(good), whole=whole)


def unanswered(known: KnownBroker, why: str, around: Around) -> Compared:
    """Return the result for a broker that does not answer, from its disks on this host."""
    change = _Change(known, around)
    seen = []
    for path in sorted(known.log_dirs):
        readable = change.readable(path)
        if readable is None:
            continue
        change.look(path)
        if not readable:
            change.cut(path, change.replicas(path))
        elif change.was_unreadable(path):
            change.give_back(path)
        seen.append(change.shown(path, change.replicas(path)))
    change.settle(())
    return change.result(DisksUnreachable(around.now_ms, around.broker, why, tuple(seen)))


class _Change:
    """The state of one comparison."""

    def __init__(self, known: KnownBroker, around: Around) -> None:
        self._before = known
        self._around = around
        self._log_dirs = dict(known.log_dirs)
        self._cut_off = dict(known.cut_off)
        self._facts: list[DiskFact] = []

    def result(self, disks: DisksSeen | DisksUnreachable) -> Compared:
        return Compared(disks, tuple(self._facts), KnownBroker(self._log_dirs, self._cut_off))

    def readable(self, path: str) -> bool | None:
        """Return None if this is unknown; never False for a path that was not verified before."""
        look = self._around.looks.get(path)
        if look is None:
            return None
        return True if look.ours else (False if self._known(path).local else None)

    def replicas(self, path: str) -> tuple[ReplicaPlace, ...]:
        return self._known(path).replicas

    def was_unreadable(self, path: str) -> bool:
        return path in self._cut_off and self._cut_off[path].unreadable

    def look(self, path: str) -> None:
        """Apply this host's state of the path; the last id remains when the host shows none."""
        known, look = self._known(path), self._around.looks.get(path)
        self._log_dirs[path] = known._replace(
            local=look is not None and (look.ours or known.local),
            directory_id=None
            if look is None
            else (look.directory_id if look.ours else known.directory_id),
        )

    def describe(self, each: LogDirAnswer, *, good: bool) -> None:
        self.look(each.path)
        known = self._known(each.path)
        self._log_dirs[each.path] = known._replace(
            error=each.error,
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
            seen_ms=self._around.now_ms if good else known.seen_ms,
            replicas=each.replicas if good else known.replicas,
        )

    def shown(self, path: str, replicas: Sequence[ReplicaPlace]) -> LogDirSeen:
        known = self._known(path)
        current = [each for each in replicas if not each.future]
        futures = [each for each in replicas if each.future]
        return LogDirSeen(
            path=path,
            error=known.error,
            total_bytes=known.total_bytes,
            usable_bytes=known.usable_bytes,
            replicas=len(current),
            bytes=min(sum(each.bytes for each in current), INT64_MAX),
            futures=len(futures),
            future_lag_max=max((each.lag for each in futures), default=0),
            directory_id=known.directory_id,
            readable=self.readable(path),
        )

    def cut(self, path: str, lay: Sequence[ReplicaPlace]) -> None:
        """Cut off the given replicas; if the path is cut off already, update only `unreadable`."""
        before = self._cut_off.get(path)
        unreadable = self.readable(path) is False or self.was_unreadable(path)
        told = self._told(path, lay) if before is None else before.told
        self._cut_off[path] = CutOff(told, unreadable)

    def is_unseen(self, path: str) -> bool:
        """Return whether the path never answered without error: its replicas are unknown."""
        return self._known(path).seen_ms == 0 and path not in self._before.cut_off

    def infer(self, offline: Collection[str], here: Collection[TopicPartition]) -> None:
        """Cut off the replicas that must be in directories that were offline at every poll.

        The set of directories that may contain them changes as others become known.
        """
        unseen_now = sorted(each for each in offline if self.is_unseen(each))
        name = unseen.name(unseen_now)
        lay: set[TopicPartition] = set()
        for several in self._cut_off.keys() - self._log_dirs.keys() - {name}:
            lay.update(map(_place, self._cut_off.pop(several).told.replicas))
            self._facts.append(self._back(several))
        if not unseen_now or name in self._cut_off:
            return
        told = {_place(r) for cut in self._cut_off.values() for r in cut.told.replicas}
        hosted = None if self._around.hosted is None else self._around.hosted.replicas
        lay |= unseen.lying(self._around.listed or (), self._around.broker, hosted)
        self.cut(name, [ReplicaPlace(*each, 0, 0, False) for each in lay - {*here} - told])

    def give_back(self, path: str) -> None:
        if self._cut_off.pop(path, None) is not None:
            self._log_dirs[path] = self._known(path)._replace(error=0)
            self._facts.append(self._back(path))

    def settle(self, elsewhere: Collection[TopicPartition]) -> None:
        """Drop replicas that are no longer cut off, and add facts for changes of the others."""
        for path, cut in sorted(self._cut_off.items()):
            before = self._before.cut_off.get(path)
            gone = {*elsewhere, *self._not_hosted(cut.told)}
            left = tuple(each for each in cut.told.replicas if _place(each) not in gone)
            if not left:
                del self._cut_off[path]
                if path in self._log_dirs:
                    self._log_dirs[path] = self._known(path)._replace(replicas=())
                if before is not None:
                    self._facts.append(self._back(path))
            elif before is None or left != cut.told.replicas:
                told = cut.told._replace(seen_ms=self._around.now_ms, replicas=left)
                self._cut_off[path] = cut._replace(told=told)
                self._facts.append(told)

    def forget_all_but(self, paths: Collection[str]) -> None:
        """Drop paths that the broker no longer names, unless their replicas are cut off."""
        for path in self._log_dirs.keys() - paths - self._cut_off.keys():
            del self._log_dirs[path]

    def _known(self, path: str) -> KnownDir:
        return self._log_dirs.get(path, _NEVER)

    def _back(self, path: str) -> ReplicasBack:
        return ReplicasBack(self._around.now_ms, self._around.broker, path)

    def _not_hosted(self, told: ReplicasCutOff) -> set[TopicPartition]:
        """Return partitions deleted or moved to other brokers, by a view recent enough to know."""
        hosted = self._around.hosted
        if hosted is None or hosted.as_of_ms - told.seen_ms < _VIEW_OLD_MS_MAX:
            return set()
        keys = map(_place, told.replicas)
        return {key for key in keys if self._around.broker not in hosted.replicas.get(key, ())}

    def _told(self, path: str, lay: Sequence[ReplicaPlace]) -> ReplicasCutOff:
        known, nothing = self._around.partitions, KnownPartition(0)
        replicas = []
        for each in lay:
            partition = known.get((each.topic, each.partition), nothing)
            if not each.future:
                end, count = partition.end_offset, partition.replicas
                replicas.append(ReplicaSeen(each.topic, each.partition, each.bytes, end, count))
        return ReplicasCutOff(
            self._around.now_ms, self._around.broker, path, tuple(sorted(replicas, key=_place))
        )


def _place(replica: ReplicaSeen) -> TopicPartition:
    return replica.topic, replica.partition
