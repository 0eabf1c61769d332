"""Compares the registrations with `/brokers/ids`, which has the brokers that need ZooKeeper."""

from collections.abc import Mapping
from typing import Final

from migration.comparison.differences import Difference, Found, Last, ShardComparison, confirm
from migration.image.brokers import Broker
from migration.image.summary import Mode
from migration.observed.facts import ZkContentRead

LASTS_MS: Final = 25_000
"""The znode of a killed broker remains until the session times out: 18 s by default."""


def against_brokers(
    brokers: Mapping[int, Broker], before: Last, seen: ZkContentRead
) -> tuple[ShardComparison, Last]:
    """Compare; return the result and the state for the next comparison.

    Both sides may be correct and differ for a moment: a killed broker may already have registered
    in KRaft mode, a starting broker creates its znode before it registers, and a stopping broker is
    fenced later.
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
