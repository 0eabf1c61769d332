"""The expected result of replaying a generated log, in the shape that `replay --json` prints.

The generator reports each record to it. It uses plain counters and no code of `migration`.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class ExpectedBroker:
    """One broker's counters and the places of its latest registration."""

    id: int
    log_dirs: list[str]
    hosted: int = 0
    pending: int = 0
    registered: int = -1
    unfenced: int | None = None
    complete: int | None = None
    early_pending: int | None = None
    early_ms: tuple[int, int | None] = (0, None)

    def told(self) -> dict[str, Any]:
        """As the contract prints it, after all brokers were moved to KRaft."""
        early = None
        if self.early_pending is not None:
            since, until = self.early_ms
            duration = None if until is None else until - since
            early = {"pending": self.early_pending, "duration_ms": duration}
        states = {
            "migrating": self.pending,
            **dict.fromkeys(("unassigned", "offline", "lost", "reserved"), 0),
        }
        return {
            "id": self.id,
            "epoch": self.registered,
            "mode": "kraft",
            "fenced": False,
            "held": self.pending > 0,
            "log_dirs": self.log_dirs,
            "replicas": states | {"assigned": self.hosted - self.pending},
            "registered_offset": self.registered,
            "unfenced_offset": self.unfenced,
            "assignments_complete_offset": self.complete,
            "unfenced_early": early,
        }


@dataclass(slots=True)
class Oracle:
    """Counts along with the generator."""

    brokers: dict[int, ExpectedBroker]
    topics: int = 0
    partitions: int = 0
    changes: int = 0
    records: int = 0

    def hosts(self, replicas: tuple[int, ...]) -> None:
        """A partition without directories was copied."""
        self.partitions += 1
        for each in replicas:
            self.brokers[each].hosted += 1
            self.brokers[each].pending += 1

    def registered(self, broker: int, offset: int) -> None:
        """The broker registered in KRaft mode."""
        one = self.brokers[broker]
        one.registered, one.unfenced, one.complete, one.early_pending = offset, None, None, None
        if not one.pending:
            one.complete = offset

    def unfenced(self, broker: int, offset: int, timestamp_ms: int) -> None:
        """The broker was unfenced, maybe early."""
        one = self.brokers[broker]
        one.unfenced = offset
        if one.pending:
            one.early_pending, one.early_ms = one.pending, (timestamp_ms, None)

    def assigned(self, broker: int, offset: int, timestamp_ms: int) -> None:
        """One of the broker's replicas got its directory."""
        one = self.brokers[broker]
        one.pending -= 1
        if not one.pending:
            one.complete = offset
            if one.early_pending is not None:
                one.early_ms = one.early_ms[0], timestamp_ms

    def told(self, metadata_offset: int) -> dict[str, Any]:
        """Everything that can be checked, as JSON."""
        return {
            "records": self.records,
            "changes": self.changes,
            "metadata_offset": metadata_offset,
            "phase": "finalized",
            "topics": self.topics,
            "partitions": self.partitions,
            "brokers": [each.told() for each in self.brokers.values()],
        }


def differences(expected: dict[str, Any], said: dict[str, Any]) -> list[str]:
    """Return where a replay's JSON differs; fields that the oracle lacks are ignored."""
    found = [
        f"{key}: expected {expected[key]!r}, replay says {said.get(key)!r}"
        for key in ("metadata_offset", "phase", "topics", "partitions")
        if expected[key] != said.get(key)
    ]
    brokers = {each["id"]: each for each in said.get("brokers", ())}
    if brokers.keys() != {each["id"] for each in expected["brokers"]}:
        found.append(f"brokers: replay names {len(brokers)}, expected {len(expected['brokers'])}")
    for one in expected["brokers"]:
        other = brokers.get(one["id"], {})
        found += [
            f"broker {one['id']}, {key}: expected {value!r}, replay says {other.get(key)!r}"
            for key, value in one.items()
            if other.get(key) != value
        ]
    return found
