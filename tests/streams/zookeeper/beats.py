"""Shared by the tests of the heartbeat of `/migration`."""

from kazoo.protocol.states import ZnodeStat

from migration.observed.facts import ZooKeeperFact
from migration.observed.znodes import MIGRATION
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.known import Known


def is_heartbeat(before: bytes, now: bytes) -> bool:
    """Return whether the fact of the second content is delayed."""
    facts: list[ZooKeeperFact] = []
    emitter = Emitter(Known(), facts.extend, lambda: 1000)
    for number, data in enumerate((before, now), start=1):
        emitter.update(MIGRATION, data, ZnodeStat(1, number, 0, 0, number, 0, 0, 0, 0, 0, 1))
    return len(facts) == 1
