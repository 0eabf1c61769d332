"""Plans moves of replicas between the directories of a broker.

The planner names what a move needs; `migration.moves.permission` says whether it may happen.
"""

import enum
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from migration.moves.plan_file import ANY, Wanted, to_file, too_long
from migration.observed.probed import Broker, LogDir, Partition, TopicPartition, Topics, Unknown
from migration.values.evidence import named

THROTTLE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Bytes per second of all moves of a broker; KIP-113 calls it `intra.broker.throttled.rate`."""
SAME_VOLUME_BYTES: Final = 64 * 2**20
"""A broker reads the free space of its directories one after the other, while it writes: on one
volume the numbers differ by less than this."""
RESERVE: Final = 0.01
"""The part of a destination that must stay free: logs grow while they are copied, and the sizes
that brokers report count no indexes."""
WORTH: Final = 0.8
"""A replica moves if its size is at most this part of the difference: the move then lowers the
difference by at least half of what it copies."""
EVEN_ENOUGH: Final = 0.05
"""The directories of a broker are even if they differ by at most this part of their mean."""
_NAMED_MAX: Final = 5


class Measure(enum.StrEnum):
    """What is evened out."""

    BYTES = "bytes"
    COUNT = "count"


class Move(NamedTuple):
    """A replica that gets another directory of its broker."""

    broker: int
    at: TopicPartition
    source: str
    target: str
    bytes: int


class Space(NamedTuple):
    """The free space of a destination; None: its broker does not report it.

    Attributes:
        after: once all replicas have arrived, while the source still has its logs.
        together: the other destinations that count as the same volume.
    """

    broker: int
    path: str
    before: int | None
    after: int | None
    together: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unusable(Exception):  # not an error of the program
    """The broker has no directories to plan with; `is_unknown`: they may be there."""

    why: str
    is_unknown: bool = False


def drain(broker: Broker, path: str) -> tuple[Move, ...]:
    """Return the moves that empty a directory: the largest replica first, to the most free space.

    Raises:
        Unusable: the directory, or every other one, is not online; or this is not known.
    """
    log_dirs = _described(broker)
    source = next(each for each in log_dirs if each.path == path)
    if source.error:
        raise Unusable(f"broker {broker.id}: {path} is not online (error {source.error})")
    others = [each for each in log_dirs if each.path != path and not each.error]
    if not others:
        raise Unusable(f"broker {broker.id} has no other online directory than {path}")
    incoming = dict.fromkeys((each.path for each in others), 0)
    moves = []
    for at in sorted(source.replicas, key=lambda at: (-source.sizes[at], at)):
        target = min(others, key=lambda each: _fullness(each, incoming[each.path]))
        incoming[target.path] += source.sizes[at]
        moves.append(Move(broker.id, at, path, target.path, source.sizes[at]))
    return tuple(moves)


def even_out(broker: Broker, measure: Measure) -> tuple[Move, ...]:
    """Return the moves after which the online directories have about the same load.

    Each move takes, from the fullest directory that has a suitable replica to the emptiest one, the
    replica that comes closest to half of their difference; no replica moves twice. Names that are
    too long stay.

    Raises:
        Unusable: fewer than two directories are online; or this is not known.
    """
    online = {each.path: each for each in _described(broker) if not each.error}
    if len(online) < 2:
        raise Unusable(f"broker {broker.id} has fewer than two online directories")
    weights = {
        path: {at: each.sizes[at] if measure is Measure.BYTES else 1 for at in each.replicas}
        for path, each in online.items()
    }
    load = {path: sum(each.values()) for path, each in weights.items()}
    near = EVEN_ENOUGH * sum(load.values()) / len(load) if measure is Measure.BYTES else 1
    movable = {
        path: sorted((weight, at) for at, weight in each.items() if weight and not too_long(at))
        for path, each in weights.items()
    }
    moves: list[Move] = []
    while True:
        fullest = sorted(load, key=lambda path: (-load[path], path))
        target = min(fullest, key=lambda path: (load[path], path))
        gaps = [(each, load[each] - load[target]) for each in fullest]
        source, best = next(
            (
                (each, best)
                for each, gap in gaps
                if gap > near and (best := _suitable(movable[each], gap, near)) is not None
            ),
            (None, None),
        )
        if source is None or best is None:
            return tuple(moves)
        weight, at = movable[source].pop(best)
        load[source] -= weight
        load[target] += weight
        moves.append(Move(broker.id, at, source, target, online[source].sizes[at]))


def listed(moves: Iterable[Move], topics: Topics) -> tuple[tuple[Move, ...], tuple[str, ...]]:
    """Return the moves that a file can have: of replicas that the cluster's metadata lists.

    Also returns why the others cannot be planned.
    """
    replicas = {(each.at, id_) for each in topics.partitions for id_ in each.replicas}
    moves = tuple(moves)
    unlisted: defaultdict[tuple[int, str], list[TopicPartition]] = defaultdict(list)
    for each in moves:
        if (each.at, each.broker) not in replicas:
            unlisted[each.broker, each.source].append(each.at)
    found = tuple(each for each in moves if (each.at, each.broker) in replicas)
    return found, tuple(
        f"broker {id_} has {named(names, _NAMED_MAX)} in {source}, and the cluster's metadata does"
        " not list that: it is being created, deleted or reassigned (plan again later), its topic"
        " was deleted and the log is left (`replica_not_in_metadata`: a broker in KRaft mode"
        " renames the folder when it starts), or Kraftgate's principal may not describe the topic."
        " To move the others now, pass the output of --json with --from"
        for (id_, source), names in unlisted.items()
    )


def requested(
    wanted: Iterable[Wanted], brokers: Mapping[int, Broker]
) -> tuple[tuple[Move, ...], tuple[str, ...]]:
    """Return the moves that a file asks for, without the replicas that are there already.

    Also returns why the source of a replica is unknown.
    """
    moves: list[Move] = []
    unknown: dict[str, None] = {}
    for one in wanted:
        for id_, target in one.targets.items():
            log_dirs = brokers[id_].log_dirs
            if isinstance(log_dirs, Unknown):
                unknown[f"broker {id_} does not describe its log directories: {log_dirs.why}"] = (
                    None
                )
                continue
            source = next((each for each in log_dirs if one.at in each.replicas), None)
            if source is None:
                unknown[f"broker {id_} does not describe {one.at}: its directory is unknown"] = None
            elif source.path != target:
                moves.append(Move(id_, one.at, source.path, target, source.sizes[one.at]))
    return tuple(moves), tuple(unknown)


def space(moves: Iterable[Move], brokers: Mapping[int, Broker]) -> tuple[Space, ...]:
    """Return the free space of each destination before and after the moves.

    Directories of a broker with equal sizes and nearly equal free space count as one volume.
    """
    into: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for each in moves:
        arriving = into[each.broker]
        arriving[each.target] = arriving.get(each.target, 0) + each.bytes
    found = []
    for id_, arriving in sorted(into.items()):
        dirs = {path: _log_dir(brokers[id_], path) for path in sorted(arriving)}
        for path, log_dir in dirs.items():
            before = log_dir.usable_bytes
            others = tuple(each for each in dirs if each != path and _share(log_dir, dirs[each]))
            size = arriving[path] + sum(arriving[each] for each in others)
            after = None if before is None else before - size
            found.append(Space(id_, path, before, after, others))
    return tuple(found)


def obstacles(
    moves: Iterable[Move],
    brokers: Mapping[int, Broker],
    own: Mapping[int, Mapping[TopicPartition, str]] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return what prevents moves that nothing forbids: names, space, directories, other moves.

    A broker with an offline directory begins no move at all (LogManager.getOrCreateLog).
    `own`: the targets of moves that may run already, by broker: an interrupted plan's. On a broker
    that has begun with them, they may use the reserve: ending a plan midway frees nothing.
    """
    moves = tuple(moves)
    found = dict.fromkeys(
        f"broker {each.broker}: {each.at}: {why}" for each in moves if (why := too_long(each.at))
    )
    there = set()
    for id_ in sorted({each.broker for each in moves}):
        for one in _described(brokers[id_]):
            there.add((id_, one.path))
            if one.error:
                offline = f"broker {id_}: {one.path} is not online (error {one.error})"
                found[f"{offline}, and Kafka then rejects every move"] = None
            mine = own.get(id_, {})
            for at in sorted(at for at in one.futures if mine.get(at) != one.path):
                found[f"broker {id_} already moves {at} to {one.path}: wait for its end"] = None
    for each in moves:
        if (each.broker, each.target) not in there:
            found[f"broker {each.broker} has no log directory {each.target}"] = None
    into = [each for each in moves if (each.broker, each.target) in there]
    for volume in space(into, brokers):
        total = _log_dir(brokers[volume.broker], volume.path).total_bytes or 0
        has_begun = _has_begun(brokers[volume.broker], own.get(volume.broker, {}))
        reserve = 0 if has_begun else round(RESERVE * total)
        found |= dict.fromkeys(_too_small(volume, reserve))
    return tuple(found)


def _has_begun(broker: Broker, targets: Mapping[TopicPartition, str]) -> bool:
    """Return whether a replica moves to its target, or is there."""
    return any(
        targets.get(at) == one.path
        for one in _described(broker)
        for at in one.replicas | one.futures
    )


def _too_small(volume: Space, reserve: int) -> Iterator[str]:
    shared = ", ".join(volume.together)
    counted = (
        f" (one volume with {shared}, as equal sizes and free space suggest)" if shared else ""
    )
    at = f"broker {volume.broker}: {volume.path}{counted}"
    if volume.after is None or volume.after >= reserve:
        return
    if volume.after < 0:
        yield f"{at} would be {-volume.after} bytes too small"
    else:
        yield f"{at} would have {volume.after} bytes free, below the reserve of {reserve}"


def seconds(
    moves: Iterable[Move], throttles: Mapping[int, int | None]
) -> Mapping[int, float | None]:
    """Return how long the moves of each broker take at its throttle; None: it has none."""
    total: defaultdict[int, int] = defaultdict(int)
    for each in moves:
        total[each.broker] += each.bytes
    return {
        id_: None if (rate := throttles.get(id_)) is None else size / rate
        for id_, size in total.items()
    }


def file_of(moves: Iterable[Move], topics: Topics) -> dict[str, object]:
    partitions: Mapping[TopicPartition, Partition] = {each.at: each for each in topics.partitions}
    targets: defaultdict[TopicPartition, dict[int, str]] = defaultdict(dict)
    for each in moves:
        targets[each.at][each.broker] = each.target
    return to_file(
        {
            at: [(id_, paths.get(id_, ANY)) for id_ in partitions[at].replicas]
            for at, paths in targets.items()
        }
    )


def _suitable(found: Sequence[tuple[int, TopicPartition]], gap: int, near: float) -> int | None:
    """Return the position of the entry closest to half of the gap, in a sorted sequence.

    None: no entry may move, or all that may would together not make a difference (`near`).
    """
    half = bisect_left(found, gap / 2, key=lambda each: each[0])
    most = WORTH * gap
    around = [at for at in (half, half - 1) if 0 <= at < len(found) and found[at][0] <= most]
    best = min(around, key=lambda at: abs(found[at][0] - gap / 2), default=None)
    return None if best is None or (best + 1) * found[best][0] < near / 2 else best


def _described(broker: Broker) -> tuple[LogDir, ...]:
    log_dirs = broker.log_dirs
    if isinstance(log_dirs, Unknown):
        why = f"broker {broker.id} does not describe its log directories: {log_dirs.why}"
        raise Unusable(why, is_unknown=True)
    return log_dirs


def _log_dir(broker: Broker, path: str) -> LogDir:
    return next(each for each in _described(broker) if each.path == path)


def _share(one: LogDir, other: LogDir) -> bool:
    """Return whether two directories may be on one volume."""
    if one.usable_bytes is None or other.usable_bytes is None:
        return False
    is_near = abs(one.usable_bytes - other.usable_bytes) < SAME_VOLUME_BYTES
    return is_near and one.total_bytes == other.total_bytes


def _fullness(log_dir: LogDir, incoming: int) -> tuple[int, int, str]:
    """Return a key that is lowest for the directory with the most free space."""
    free = log_dir.usable_bytes or 0
    return incoming - free, sum(log_dir.sizes.values()) + incoming, log_dir.path
