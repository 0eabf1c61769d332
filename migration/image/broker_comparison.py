"""The brokers' registrations against `/brokers/ids`, where those are that need ZooKeeper."""

from collections.abc import Mapping
from typing import Final

from migration.comparison.differences import Difference, Found, Last, ShardComparison, confirm
from migration.image.brokers import Broker
from migration.image.summary import Mode
from migration.observed.facts import ZkContentRead

LASTS_MS: Final = 25_000
"""A broker that was killed keeps its znode for the session's timeout, 18 s unless it is set."""


def against_brokers(
    brokers: Mapping[int, Broker], before: Last, seen: ZkContentRead
) -> tuple[ShardComparison, Last]:
    """Compare; what to keep for the next comparison comes back, too.

    There are moments in which both are right: a broker that was killed may have registered in KRaft
    mode since, one that comes has its znode before it registers, and one that goes is fenced later.
    """
    found: Found = {}
    there = set(seen.brokers)
    for broker in brokers.values():
        needs = broker.mode is Mode.MIGRATING
        if needs and not broker.fenced and broker.id not in there:
            found[_registration(broker.id, "absent", str(broker.mode))] = None
        elif not needs and broker.id in there:
            found[_registration(broker.id, "present", str(broker.mode))] = None
    for id_ in there - brokers.keys():
        found[_registration(id_, "present", "absent")] = None
    return confirm(seen, len(there & brokers.keys()), found, before, lasts_ms=LASTS_MS)


def _registration(broker: int, seen: str, logged: str) -> Difference:
    return Difference("registration", f"broker {broker}", seen, logged)
