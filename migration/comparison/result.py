"""The result of all shards' comparisons: lasting differences, and the directory id of each path.

A comparison is complete when every shard has reported its part. The image keeps the last complete
one. It includes the last result for the brokers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from migration.comparison.differences import Counts, Difference, Last, Placed, ShardComparison
from migration.metadata.directory_ids import is_reserved, to_text
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.log_dirs import DisksImage, is_bad, is_undescribed

_NAMED_MAX: Final = 200
_TOLD_MAX: Final = 50
FILE: Final = "meta.properties"
_KINDS: Final = {
    "stray": EventKind.REPLICA_NOT_IN_METADATA,
    "missing": EventKind.REPLICA_NOT_ON_DISK,
    "future": EventKind.FUTURE_REPLICA_NOT_PROMOTED,
    "misplaced": EventKind.REPLICA_MISPLACED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The directory id of a broker's path, and its source.

    Attributes:
        by: `meta.properties`, or `replicas`: most replicas in the path are assigned to the id.
        agreeing: replicas in the path that are assigned to the id.
        others: replicas in the path that are assigned to another id.
    """

    broker: int
    path: str
    directory: str
    by: str
    agreeing: int
    others: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Counts):
    """The last complete comparison.

    Attributes:
        at_ms: when all of the other side was last read; None: never. The other attributes include
            topics that were read separately since.
        misplaced: replicas that this comparison found outside of their assigned directory, as far
            as the shards name them.
        unnamed: the number of the others, by place: a difference without a subject.
        identities: for the disks, without ids that are not certain.
        unclear: broker and path of each directory that has replicas with an assigned directory, and
            whose own id is not known, because two ids have equally many of its replicas, or another
            path of the broker has the same id. Whether its replicas are misplaced is unknown.
        unlisted: the first topics whose logs are not compared: the metadata log has them, but
            METADATA does not list them.
    """

    at_ms: int | None = None
    misplaced: frozenset[Difference] = frozenset()
    unnamed: tuple[tuple[Difference, int], ...] = ()
    identities: tuple[Identity, ...] = ()
    unclear: tuple[tuple[int, str], ...] = ()
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """Comparisons of one kind: the last complete one, and the parts of the current one.

    Attributes:
        brokers: the last result for the brokers; None: there is none.
        brokers_last: the state after it.
    """

    last: Compared = field(default_factory=Compared)
    parts: Mapping[int, ShardComparison] = field(default_factory=dict)
    brokers: ShardComparison | None = None
    brokers_last: Last = field(default_factory=Last)


def take(
    before: Comparing,
    parts: Iterable[tuple[int, ShardComparison]],
    shards: int,
    source: Source,
    disks: DisksImage | None = None,
) -> tuple[Comparing, tuple[Event, ...]]:
    """Add the shards' parts; the comparison is complete when all `shards` have reported.

    Parts of an older comparison are dropped, because it cannot become complete.
    """
    events: tuple[Event, ...] = ()
    for shard, part in parts:
        newest = max((each.comparison for each in before.parts.values()), default=part.comparison)
        if part.comparison < newest:
            continue
        known = {s: each for s, each in before.parts.items() if each.comparison == part.comparison}
        together = known | {shard: part}
        if len(together) < shards:
            before = replace(before, parts=together)
            continue
        told_all = [*together.values(), *([before.brokers] if before.brokers else [])]
        whole = _whole(before.last, told_all, disks)
        collected = EventCollector(source, part.seen_ms)
        _tell(before.last, whole, collected)
        events += collected.events
        before = replace(before, last=whole, parts={})
    return before, events


def _whole(before: Compared, parts: list[ShardComparison], disks: DisksImage | None) -> Compared:
    lasting: Counter[str] = Counter()
    for part in parts:
        lasting.update(part.lasting)
    unlisted = {each for part in parts for each in part.unlisted}
    known = [count for part in parts for of, count in part.without_id.items() if of in unlisted]
    if known:
        lasting["stray"] -= sum(known)
    placed = [each for part in parts for each in part.placed]
    guesses = identify(placed, disks) if disks is not None else ()
    found = list(_misplaced(placed, guesses))
    identities = certain(guesses)
    misplaced = frozenset(
        place._replace(subject=subject) for place, each in found for subject in each.named
    ) | {e for e in before.misplaced if _unseen(e, disks)}
    counted: dict[Difference, int] = {}
    for place, each in found:
        counted[place] = counted.get(place, 0) + each.replicas - len(each.named)
    unnamed = {e: count for e, count in before.unnamed if _unseen(e, disks)} | counted
    again = sorted(misplaced & before.misplaced)
    # Only their number is known: the smaller number of both comparisons counts as the same ones.
    uncounted = sum(min(count, unnamed.get(place, 0)) for place, count in before.unnamed)
    if again or uncounted:
        lasting["misplaced"] = len(again) + uncounted
    named = sorted(
        each
        for part in parts
        for each in part.named
        if each.kind != "stray" or each.topic not in unlisted
    )
    assigned = {(e.broker, e.path) for e in placed if not is_reserved(e.directory)}
    wholes = [part.whole_ms for part in parts if part.whole_ms is not None]
    return Compared(
        at_ms=min(wholes) if len(wholes) == len(parts) else None,
        compared=sum(part.compared for part in parts),
        differing=sum(part.differing for part in parts) + len(misplaced) + sum(unnamed.values()),
        lasting={kind: count for kind, count in lasting.items() if count},
        named=tuple([*again, *named][:_NAMED_MAX]),
        unreadable=max(part.unreadable for part in parts),
        unread=tuple(sorted({each for part in parts for each in part.unread})),
        closed=tuple(sorted({each for part in parts for each in part.closed})),
        brokers=tuple(sorted({each for part in parts for each in part.brokers})),
        misplaced=misplaced,
        unnamed=tuple(sorted((each, count) for each, count in unnamed.items() if count)),
        identities=identities,
        unclear=tuple(sorted(assigned - {(each.broker, each.path) for each in identities})),
        unlisted=tuple(sorted(unlisted)[:_NAMED_MAX]),
    )


def identify(placed: Iterable[Placed], disks: DisksImage) -> tuple[Identity, ...]:
    """Match paths with directory ids: by `meta.properties`, else by the ids of most replicas.

    A path gets no id if two ids have equally many of its replicas; two paths may get one id.
    """
    counts: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for each in placed:
        if not is_reserved(each.directory):
            counts[each.broker, each.path][to_text(each.directory)] += each.replicas
    known = {
        (one.id, log_dir.path): log_dir.directory_id
        for one in disks.brokers.values()
        for log_dir in one.log_dirs
        if log_dir.directory_id is not None
    }
    found = []
    for broker, path in sorted(counts.keys() | known.keys()):
        of_path = counts[broker, path]
        total = sum(of_path.values())
        written = known.get((broker, path))
        by, id_ = FILE, written or ""
        if written is None:
            by, id_ = "replicas", max(of_path, key=lambda each: of_path[each])
            if 2 * of_path[id_] <= total:
                continue
        agreeing = of_path[id_]
        found.append(
            Identity(
                broker=broker,
                path=path,
                directory=id_,
                by=by,
                agreeing=agreeing,
                others=total - agreeing,
            )
        )
    return tuple(found)


def certain(found: Iterable[Identity]) -> tuple[Identity, ...]:
    """Leave out each id that several paths of a broker claim; the one `meta.properties` decides."""
    found = tuple(found)
    files = {(each.broker, each.directory) for each in found if each.by == FILE}
    left = [e for e in found if e.by == FILE or (e.broker, e.directory) not in files]
    claims = Counter((each.broker, each.directory) for each in left)
    return tuple(each for each in left if claims[each.broker, each.directory] == 1)


def _unseen(each: Difference, disks: DisksImage | None) -> bool:
    """Return whether a difference remains because its directory cannot be read now."""
    one = None if disks is None else disks.brokers.get(each.broker)
    if one is None:
        return False
    unread = {e.path for e in one.log_dirs if is_bad(e) or is_undescribed(e)} | one.cut_off.keys()
    return one.unreachable is not None or each.path in unread


def _misplaced(
    placed: Iterable[Placed], identities: tuple[Identity, ...]
) -> Iterable[tuple[Difference, Placed]]:
    """Yield what is outside of its assigned directory, with its place."""
    ids = {(each.broker, each.path): each.directory for each in identities}
    for each in placed:
        lies_in = ids.get((each.broker, each.path))
        if lies_in is None or is_reserved(each.directory):
            continue
        assigned = to_text(each.directory)
        if assigned != lies_in:
            yield Difference("misplaced", "", lies_in, assigned, each.broker, each.path), each


def _tell(before: Compared, now: Compared, collected: EventCollector) -> None:
    known = {(each.broker, each.path): each.directory for each in before.identities}
    for one in now.identities:
        if known.get((one.broker, one.path)) != one.directory:
            collected.add(
                EventKind.LOG_DIR_IDENTIFIED,
                one.broker,
                path=one.path,
                directory=one.directory,
                by=one.by,
                replicas=one.agreeing,
            )
    was = set(before.named)
    new = [each for each in now.named if each not in was]
    for each in new[:_TOLD_MAX]:
        if each.kind in _KINDS:
            topic, _, partition = each.subject.rpartition("-")
            collected.add(
                _KINDS[each.kind],
                each.broker,
                topic=topic,
                partition=int(partition),
                path=each.path,
                lies_in=each.seen,
                assigned_to=each.logged,
            )
        else:
            collected.add(
                EventKind.ZOOKEEPER_DIFFERS,
                what=each.kind,
                subject=each.subject,
                zookeeper=each.seen,
                metadata_log=each.logged,
            )
    if len(new) > _TOLD_MAX:
        collected.add(EventKind.DIFFERENCES_NOT_TOLD, count=len(new) - _TOLD_MAX)
    unread = dict(before.unread)
    for path, why in now.unread:
        if unread.get(path) != why:
            collected.add(EventKind.ZNODE_NOT_COMPARED, path=path, reason=why)
    if before.unreadable and not now.unreadable:
        collected.add(EventKind.ZNODES_COMPARED_AGAIN)
    if before.lasting and not now.lasting:
        collected.add(EventKind.DIFFERENCES_OVER, compared=now.compared)
