"""Hazards from the comparisons of the metadata log with ZooKeeper and the disks.

They cover KAFKA-16297 (a replica in another directory than assigned), KAFKA-16082 and KAFKA-16120
(logs that are not in the metadata), and H3 (replicas that a broker refuses to create).
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from migration.assessment.hazards.hazard import Action, Hazard, HazardKind
from migration.comparison.differences import Difference
from migration.image.summary import ClusterSummary, Phase
from migration.observed.log_dirs import NOT_CLEANED, BrokerDisks, DirectoryMove, name
from migration.values.evidence import count


class _Rule(NamedTuple):
    kind: HazardKind
    noun: str
    text: str
    way_out: str


_ON_DISK: Final = {
    "missing": _Rule(
        HazardKind.REPLICA_NOT_ON_DISK,
        "replica",
        "{are} in no log directory, although all directories are readable",
        "Search the broker's log for 'Skipping creation of log': after a start with an offline"
        " directory a broker does not create replicas whose directory is unknown. Restore that"
        " directory and restart the broker; if it is lost, reassign these partitions.",
    ),
    "misplaced": _Rule(
        HazardKind.REPLICA_MISPLACED,
        "replica",
        "{are} in another log directory than the metadata log assigns: if that directory fails,"
        " Kafka does not move its leaders",
        "Restart the broker once all its log directories are online: it then reports the"
        " directory of each replica to the controller (KAFKA-16297).",
    ),
    "stray": _Rule(
        HazardKind.REPLICA_NOT_IN_METADATA,
        "log",
        "{are} of partitions that the metadata log does not assign to the broker",
        "Find out which topic they belong to before the broker renames their folders to ...-stray"
        " (KAFKA-16120); if the data is needed, keep these folders.",
    ),
}


_STILL_MOVES: Final = (
    "Do not restart the broker while these replicas move. When it starts, Kafka replaces the full"
    " log with its copy, even if the copy is behind (LogManager.recoverAbandonedFutureLogs), and"
    " what only this broker had is lost. Let the move end, raise the throttle"
    " (replica.alter.log.dirs.io.max.bytes.per.second), or cancel it (`kraftgate move cancel`)."
    f" After a cancellation {NOT_CLEANED}. If the broker is down and the full logs are readable,"
    " first delete the `-future` folders of these replicas. Then start it, although this hazard is"
    " still active: it ends once the broker has described its directories."
)
"""The way out of a misplaced replica whose move is not finished: the controller records the target
before the broker promotes the copy."""


def on_disk(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the differences between the disks and the metadata log, one hazard for each broker.

    Those that the comparison counts and does not name are of any broker.
    """
    places = summary.places
    for kind, rule in _ON_DISK.items():
        total = places.lasting.get(kind, 0)
        of_kind = [each for each in places.named if each.kind == kind]
        unnamed = total - len(of_kind)
        brokers = sorted({each.broker for each in of_kind}) if total else ()
        for id_ in (*brokers, *[None] * (unnamed > 0)):
            named = [each for each in of_kind if each.broker == id_]
            still_moves = kind == "misplaced" and _still_moves(summary, id_, named)
            number = len(named) or unnamed
            what = f"{'at least ' * (unnamed > 0)}{count(number, rule.noun)} of broker {id_}"
            if id_ is None:
                noun = f"further {rule.noun}" if brokers else rule.noun
                what = f"{count(number, noun)}, whose brokers are not known,"
            text = f"{what} {rule.text.format(are='is' if number == 1 else 'are')}"
            yield Hazard(
                kind=rule.kind,
                broker=id_,
                text=text,
                evidence=tuple(map(_where, named)),
                way_out=_STILL_MOVES if still_moves else rule.way_out,
                since_ms=places.at_ms,
                counted=number,
                actions=(Action.FINALIZE, Action.RESTART) if still_moves else None,
            )


def _still_moves(summary: ClusterSummary, broker: int | None, named: Iterable[Difference]) -> bool:
    """Return whether one of these replicas, or one that is not named, may be moving.

    Not if its copy has caught up and is not promoted (`future_replica_stuck`): this needs a
    restart.
    """
    subjects = {each.subject for each in named}
    for one in summary.broker_disks.values():
        if broker not in (None, one.id):
            continue
        moving = {name(each.replica) for each in one.moves if not _is_caught_up(each, one)}
        unnamed = sum(each.futures for each in one.log_dirs) - len(one.moves)
        if unnamed > 0 or (moving if broker is None else moving & subjects):
            return True
    return False


def _is_caught_up(move: DirectoryMove, disks: BrokerDisks) -> bool:
    return move.replica.lag == 0 and move in disks.stuck


def content_differs(summary: ClusterSummary, stuck: Hazard | None) -> Iterator[Hazard]:
    """Yield the differences between ZooKeeper and the metadata log in dual write.

    Both must be equal then, or a rollback would lead to other metadata.

    `stuck`: the hazard that the controller does not write to ZooKeeper; None: it does.
    """
    content = summary.content
    if summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE) or not content.lasting:
        return
    total = sum(content.lasting.values())
    kinds = ", ".join(f"{content.lasting[kind]} {kind}" for kind in sorted(content.lasting))
    named = [
        f"{each.kind} of {each.subject}: ZooKeeper {each.seen}, metadata log {each.logged}"
        for each in content.named
    ]
    yield Hazard(
        kind=HazardKind.CONTENT_DIFFERS,
        text=(
            f"ZooKeeper and the metadata log differ ({kinds}): brokers in ZooKeeper mode, and a"
            " rollback, use other metadata"
        ),
        evidence=tuple(named),
        way_out=_content_way_out(content.lasting, stuck),
        elects={*content.lasting} != {"registration"} and (stuck is None or stuck.elects),
        since_ms=content.at_ms,
        counted=total,
    )


def _content_way_out(kinds: Collection[str], stuck: Hazard | None) -> str:
    ways = []
    if {*kinds} - {"registration"} and stuck is not None:
        ways.append(stuck.way_out)
    elif {*kinds} - {"registration"}:
        ways.append(
            "Restart the active controller: the next one reconciles ZooKeeper with the metadata"
            " log (KRaftMigrationDriver, SYNC_KRAFT_TO_ZK). This overwrites what other clients"
            " wrote to ZooKeeper."
        )
    if "registration" in kinds:
        ways.append(
            "Check the configuration of each named broker and whether it runs, and restart it in"
            " the intended mode once its log directories are online. The controller does not send"
            " everything to a broker that only ZooKeeper or only the metadata log has, or whose"
            " mode differs from its znode."
        )
    return " ".join(ways)


def _where(each: Difference) -> str:
    what = f"broker {each.broker}: {each.subject}"
    if each.kind == "misplaced":
        return f"{what} is in {each.path} ({each.seen}), assigned to {each.logged}"
    return f"{what} in {each.path}" if each.path else what
