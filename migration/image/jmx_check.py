"""Compares JMX numbers with the metadata log and the disks.

A number is a contradiction after two readings that disagree; the exceptions of
`migration.observed.jmx_names` are not contradictions. The other source is always authoritative: a
number only adds a doubt.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from migration.image import phases
from migration.image.cluster import ClusterImage
from migration.image.summary import Mode, Phase
from migration.metadata.event_kinds import EventKind
from migration.metadata.events import Event, EventCollector, Source
from migration.observed.facts import JmxSeen
from migration.observed.jmx import Contradiction, JmxImage
from migration.observed.jmx_names import JmxName
from migration.observed.log_dirs import STORAGE_ERROR, BrokerDisks

METADATA_LOG: Final = "metadata log"
DISKS: Final = "disks"
_ZK_BROKER_STATE: Final = 4
_UNPUBLISHED_STATE: Final = -1
_FRESH_MS: Final = 60_000
"""Older records do not show the present. Each batch of facts has those of an idle controller."""
_DISKS_FRESH_MS: Final = 120_000
"""A fact arrives twice a minute for a broker that answers (`streams.log_dirs.poll`)."""

_STATES: Final = {
    Phase.PRE_MIGRATION: phases.PRE_MIGRATION,
    Phase.COPYING: phases.PRE_MIGRATION,
    Phase.HYBRID: phases.MIGRATION,
    Phase.DUAL_WRITE: phases.MIGRATION,
    Phase.FINALIZED: phases.POST_MIGRATION,
    Phase.KRAFT: phases.NONE,
}
"""The controllers' ZkMigrationState by phase. Without controllers, and after a rollback, no
controller writes the metadata log, so there is nothing to compare with."""


def check(image: ClusterImage, jmx: JmxImage, fact: JmxSeen) -> tuple[JmxImage, tuple[Event, ...]]:
    """Compare one node's numbers with the rest of the image.

    An earlier result remains while its number cannot be compared.
    """
    collected = EventCollector(Source.JMX, fact.seen_ms)
    before = {each.name: each for each in jmx.contradictions if each.node == fact.node}
    numbers = dict(fact.numbers)
    found = dict(before)
    if image.phase not in _STATES:
        for name in (JmxName.ZK_MIGRATION_STATE, JmxName.MIGRATING_ZK_BROKER_COUNT):
            _over(found.pop(name, None), collected)
    for name, value, against in _expectations(image, fact):
        reads = numbers.get(name)
        if value is None or (reads is None and name is JmxName.OFFLINE_LOG_DIRECTORY_COUNT):
            continue
        if reads is None or reads == value or _is_trap(image, fact.node, name, reads):
            _over(found.pop(name, None), collected)
        else:
            found[name] = _found(before.get(name), fact, (name, reads, value, against), collected)
    others = [each for each in jmx.contradictions if each.node != fact.node]
    return replace(jmx, contradictions=(*others, *found.values())), collected.events


def _expectations(image: ClusterImage, fact: JmxSeen) -> Iterator[tuple[JmxName, int | None, str]]:
    """Yield each number, the value that it should have, and by which source; None: unknown now."""
    state, migrating = None, None
    at = image.provenance
    if at is not None and fact.read_ms - at.timestamp_ms <= _FRESH_MS:
        state = _STATES.get(image.phase)
        if state is not None:
            migrating = sum(each.mode is Mode.MIGRATING for each in image.brokers.values())
    yield JmxName.ZK_MIGRATION_STATE, state, METADATA_LOG
    yield JmxName.MIGRATING_ZK_BROKER_COUNT, migrating, METADATA_LOG
    disks = image.disks.brokers.get(fact.node) if image.disks is not None else None
    offline = None if disks is None else _offline(disks, fact)
    yield JmxName.OFFLINE_LOG_DIRECTORY_COUNT, offline, DISKS


def _offline(disks: BrokerDisks, fact: JmxSeen) -> int | None:
    """Return the number of directories that the broker reports offline.

    None: unknown. Only the broker's own answer counts; Kraftgate may detect a failure earlier.
    """
    if disks.unreachable is not None or disks.answered_ms is None:
        return None
    if abs(fact.read_ms - disks.answered_ms) > _DISKS_FRESH_MS:
        return None
    return sum(each.error == STORAGE_ERROR for each in disks.log_dirs)


def _is_trap(image: ClusterImage, node: int, name: JmxName, reads: int) -> bool:
    """Return whether the number has no meaning here, as Kafka's code defines it."""
    if name is not JmxName.ZK_MIGRATION_STATE:
        return False
    broker = image.brokers.get(node)
    if broker is None:
        in_zookeeper = node != image.active_controller
    else:
        in_zookeeper = broker.mode is not Mode.KRAFT
    return reads == _UNPUBLISHED_STATE or (reads == _ZK_BROKER_STATE and in_zookeeper)


def _found(
    before: Contradiction | None,
    fact: JmxSeen,
    what: tuple[JmxName, int, int, str],
    collected: EventCollector,
) -> Contradiction:
    name, reads, expected, against = what
    if before is None or (before.reads, before.expected) != (reads, expected):
        return Contradiction(
            node=fact.node,
            name=str(name),
            reads=reads,
            expected=expected,
            against=against,
            since_ms=fact.read_ms,
        )
    if before.lasting or fact.read_ms <= before.since_ms:
        return before
    collected.add(
        EventKind.JMX_CONTRADICTS, node=fact.node, name=str(name), reads=reads, expected=expected
    )
    return replace(before, lasting=True)


def _over(before: Contradiction | None, collected: EventCollector) -> None:
    if before is not None and before.lasting:
        collected.add(EventKind.JMX_AGREES_AGAIN, node=before.node, name=before.name)
