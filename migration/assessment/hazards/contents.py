"""Hazards from the comparisons of the metadata log with ZooKeeper and the disks.

They cover KAFKA-16297 (a replica in another directory than assigned), KAFKA-16082 and KAFKA-16120
(logs that are not in the metadata), and H3 (replicas that a broker refuses to create).
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from migration.assessment.hazards.hazard import Hazard, HazardKind
from migration.comparison.differences import Difference
from migration.image.summary import ClusterSummary, Phase


class _Rule(NamedTuple):
    kind: HazardKind
    text: str
    way_out: str


_ON_DISK: Final = {
    "missing": _Rule(
        HazardKind.REPLICA_NOT_ON_DISK,
        (
            "{count} replicas are in no log directory of their broker, although all of its"
            " directories are readable"
        ),
        "Search the broker's log for 'Skipping creation of log': after a start with an offline"
        " directory a broker does not create replicas whose directory is unknown. Restore that"
        " directory and restart the broker; if it is lost, reassign these partitions.",
    ),
    "misplaced": _Rule(
        HazardKind.REPLICA_MISPLACED,
        "{count} replicas are in another log directory than the metadata log assigns: if that"
        " directory fails, Kafka does not move their leaders",
        "Restart the broker once all its log directories are online: it then reports the"
        " directory of each replica to the controller (KAFKA-16297).",
    ),
    "stray": _Rule(
        HazardKind.REPLICA_NOT_IN_METADATA,
        (
            "{count} logs on disk belong to partitions that the metadata log does not assign to"
            " that broker"
        ),
        "Find out which topic they belong to before the broker deletes them (KAFKA-16120); if"
        " the data is needed, copy the folders first.",
    ),
}


def on_disk(summary: ClusterSummary) -> Iterator[Hazard]:
    """Yield the differences between the disks and the metadata log."""
    places = summary.places
    for kind, rule in _ON_DISK.items():
        count = places.lasting.get(kind, 0)
        if count:
            named = [_where(each) for each in places.named if each.kind == kind]
            yield Hazard(
                kind=rule.kind,
                text=rule.text.format(count=count),
                evidence=tuple(named),
                way_out=rule.way_out,
                since_ms=places.at_ms,
                counted=count,
            )


def content_differs(summary: ClusterSummary, stuck: Hazard | None) -> Iterator[Hazard]:
    """Yield the differences between ZooKeeper and the metadata log in dual write.

    Both must be equal then, or a rollback would lead to other metadata.

    `stuck`: the hazard that the controller does not write to ZooKeeper; None: it does.
    """
    content = summary.content
    if summary.phase not in (Phase.HYBRID, Phase.DUAL_WRITE) or not content.lasting:
        return
    count = sum(content.lasting.values())
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
        since_ms=content.at_ms,
        counted=count,
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
