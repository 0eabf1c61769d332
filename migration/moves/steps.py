"""The next step of moves that are under way: what to send, what to wait for, what failed.

Pure: `orchestrator.execution.moves` polls the brokers and sends what a step says. Only the disks
show how far a move is, so an interrupted run is resumed from their state.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from migration.moves.verify import Progress, Verified
from migration.observed.facts import FutureSeen
from migration.observed.log_dirs import NO_LAG, has_gone_on
from migration.observed.probed import Broker, LogDir, TopicPartition, Unknown

STRIKES_MAX: Final = 3
"""A broker that exchanges the replicas at the end of a move may describe neither for a moment, and
one that starts may not know its logs yet: only this many polls in a row prove that a move is
gone."""

Replica: TypeAlias = tuple[int, TopicPartition]
"""A broker's id, and the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A run of moves between two polls.

    Attributes:
        started: the moves that a broker accepted, or was seen to perform.
        strikes: how many polls in a row showed no trace of a move that was started.
        failed: why a move makes no progress.
    """

    started: frozenset[Replica] = frozenset()
    strikes: Mapping[Replica, int] = field(default_factory=dict)
    failed: Mapping[Replica, str] = field(default_factory=dict)

    def accepted(self, replicas: Iterable[Replica]) -> "Moving":
        return replace(self, started=self.started.union(replicas))

    def refused(self, why: Mapping[Replica, str]) -> "Moving":
        return replace(self, failed={**self.failed, **why})


class Step(NamedTuple):
    """What to do after a poll.

    Attributes:
        send: the moves to start now, by broker; after a failure none are.
        waits: the moves whose end is awaited.
        silent: the brokers of these moves that do not answer, and why.
    """

    send: Mapping[int, Sequence[Verified]]
    waits: Sequence[Verified]
    silent: Mapping[int, str]

    @property
    def is_end(self) -> bool:
        return not self.send and not self.waits


def next_step(run: Moving, found: Iterable[Verified], at_once: int) -> tuple[Moving, Step]:
    """Return the run after a poll, and what to do next.

    Args:
        run: what was started so far.
        found: how far the moves are according to the disks, in the order in which they begin.
        at_once: how many replicas of one broker may move at the same time.
    """
    found = tuple(found)
    seen = {_replica(each) for each in found if each.progress is Progress.MOVING}
    started = run.started | seen
    failed = dict(run.failed)
    strikes: dict[Replica, int] = {}
    for each in found:
        at = _replica(each)
        if at in failed or each.progress in (Progress.COMPLETED, Progress.MOVING):
            continue
        if each.progress is Progress.UNKNOWN:
            strikes[at] = run.strikes.get(at, 0)
        elif each.progress is Progress.MOVING_ELSEWHERE:
            failed[at] = f"another client moves it to {each.future}"
        elif each.progress is Progress.MISSING or at in started:
            strikes[at] = run.strikes.get(at, 0) + 1
            if strikes[at] >= STRIKES_MAX:
                failed[at] = each.why or (
                    "it no longer moves: another client cancelled it, its broker restarted, or a"
                    " directory failed"
                )
    run = Moving(started=started, strikes=strikes, failed=failed)
    return run, _step(run, found, at_once)


def _step(run: Moving, found: Sequence[Verified], at_once: int) -> Step:
    open_ = [
        each
        for each in found
        if _replica(each) not in run.failed and each.progress is not Progress.COMPLETED
    ]
    waits = [each for each in open_ if _is_awaited(each, run)]
    silent = {each.broker: each.why or "" for each in waits if each.progress is Progress.UNKNOWN}
    send: defaultdict[int, list[Verified]] = defaultdict(list)
    if not run.failed:
        busy = Counter(each.broker for each in waits)
        for each in open_:
            is_startable = each.progress is Progress.NOT_MOVING and not _is_awaited(each, run)
            if is_startable and busy[each.broker] < at_once:
                busy[each.broker] += 1
                send[each.broker].append(each)
    return Step(send, waits, silent)


def _is_awaited(each: Verified, run: Moving) -> bool:
    """Return whether the move was started, or a later poll shows whether it can be."""
    if each.progress is Progress.UNKNOWN and run.failed:
        return _replica(each) in run.started
    return _replica(each) in run.started or each.progress is not Progress.NOT_MOVING


@dataclass(frozen=True, slots=True)
class Measured:
    """How much of the moves is done.

    Attributes:
        bytes: of replicas that have arrived, and of the copies of those under way.
        seconds_min: how long the rest takes at the throttles; the rate may be above them at first.
    """

    completed: int
    count: int
    bytes: int
    bytes_total: int
    seconds_min: float = 0.0


def measured(
    found: Iterable[Verified], brokers: Mapping[int, Broker], throttles: Mapping[int, int]
) -> Measured:
    """Return how much of the moves is done; a broker that is silent counts without bytes."""
    completed = count = done = total = 0
    left: Counter[int] = Counter()
    for each in found:
        count += 1
        completed += each.progress is Progress.COMPLETED
        log_dirs = brokers[each.broker].log_dirs
        if isinstance(log_dirs, Unknown):
            continue
        size = max((one.sizes.get(each.at, 0) for one in log_dirs), default=0)
        done_now = min(size, _copied(each.at, log_dirs))
        arrived = size if each.progress is Progress.COMPLETED else done_now
        total += size
        done += arrived
        left[each.broker] += size - arrived
    seconds_min = max((left[id_] / rate for id_, rate in throttles.items()), default=0.0)
    return Measured(completed, count, done, total, seconds_min)


class Copies(NamedTuple):
    """The future replicas that a broker fills.

    Attributes:
        since_s: since when none of them has gone on, begun or arrived. A broker copies one after
            the other, so one that goes on is enough.
    """

    seen: Mapping[TopicPartition, FutureSeen]
    since_s: float


def copies(
    before: Mapping[int, Copies],
    waits: Iterable[Verified],
    brokers: Mapping[int, Broker],
    now_s: float,
) -> Mapping[int, Copies]:
    """Return the copies of each broker that answers, after a poll."""
    found: defaultdict[int, dict[TopicPartition, FutureSeen]] = defaultdict(dict)
    for each in waits:
        log_dirs = brokers[each.broker].log_dirs
        if each.progress is Progress.MOVING and not isinstance(log_dirs, Unknown):
            lag = NO_LAG if each.lag is None else each.lag
            size = _copied(each.at, log_dirs)
            found[each.broker][each.at] = FutureSeen(each.at.topic, each.at.number, size, lag)
    return {id_: _since(before.get(id_), seen, now_s) for id_, seen in found.items()}


def _since(
    before: Copies | None, seen: Mapping[TopicPartition, FutureSeen], now_s: float
) -> Copies:
    if before is None or before.seen.keys() != seen.keys():
        return Copies(seen, now_s)
    goes_on = any(has_gone_on(was, seen[at]) for at, was in before.seen.items())
    return Copies(seen, now_s if goes_on else before.since_s)


def _copied(at: TopicPartition, log_dirs: Iterable[LogDir]) -> int:
    return max((one.future_sizes.get(at, 0) for one in log_dirs), default=0)


def _replica(each: Verified) -> Replica:
    return each.broker, each.at
