"""The JSON of `move`: a plan, which Kafka's tool reads too, and how far its moves are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from migration.moves.permission import Permission
from migration.moves.planner import Move, Space, file_of, seconds, space
from migration.moves.verify import Progress, Verified
from migration.observed.probed import Broker, Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan and what is against it.

    Attributes:
        throttles: bytes per second that the plan sets, of the brokers for which it sets them.
        rates: bytes per second of each broker while it moves replicas; None: none is known.
        permissions: of each broker with a move.
        obstacles: why a move that nothing forbids would fail.
        unknown: why a move cannot be planned.
    """

    cluster: str
    topics: Topics
    brokers: Mapping[int, Broker]
    moves: tuple[Move, ...]
    throttles: Mapping[int, int]
    rates: Mapping[int, int | None]
    permissions: Mapping[int, Permission]
    obstacles: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def forbidden(self) -> tuple[str, ...]:
        """What is against the plan."""
        against = (why for each in self.permissions.values() for why in each.forbidden)
        return tuple(dict.fromkeys([*against, *self.obstacles]))

    @property
    def not_known(self) -> tuple[str, ...]:
        unknown = [why for each in self.permissions.values() for why in each.unknown]
        spaces = (
            f"the free space of {each.path} on broker {each.broker}"
            for each in self.space
            if each.after is None
        )
        return tuple(dict.fromkeys([*self.unknown, *unknown, *spaces]))

    @property
    def space(self) -> tuple[Space, ...]:
        """The free space of the destinations."""
        return space(self.moves, self.brokers)

    @property
    def seconds(self) -> Mapping[int, float | None]:
        """How long the moves of each broker take at its throttle."""
        return seconds(self.moves, self.rates)

    def moves_of(self, broker: int) -> tuple[Move, ...]:
        return tuple(each for each in self.moves if each.broker == broker)


def plan_json(found: Planned) -> dict[str, object]:
    """Return the file for kafka-reassign-partitions.sh, which ignores the key `kraftgate`."""
    return {
        **file_of(found.moves, found.topics),
        "kraftgate": {
            "cluster": found.cluster,
            "cluster_id": found.topics.cluster_id,
            "moves": [
                {
                    "topic": each.at.topic,
                    "partition": each.at.number,
                    "broker": each.broker,
                    "from": each.source,
                    "to": each.target,
                    "bytes": each.bytes,
                }
                for each in found.moves
            ],
            "brokers": [
                {
                    "id": id_,
                    "moves": len(found.moves_of(id_)),
                    "bytes": sum(each.bytes for each in found.moves_of(id_)),
                    "throttle": found.throttles.get(id_),
                    "seconds": duration,
                    "forbidden": list(found.permissions[id_].forbidden),
                    "unknown": list(found.permissions[id_].unknown),
                }
                for id_, duration in sorted(found.seconds.items())
            ],
            "directories": [
                {
                    "broker": each.broker,
                    "path": each.path,
                    "free_before": each.before,
                    "free_after": each.after,
                }
                for each in found.space
            ],
            "obstacles": list(found.obstacles),
            "unknown": list(found.unknown),
        },
    }


def verified_json(cluster: str, found: Iterable[Verified]) -> dict[str, object]:
    rows = tuple(found)
    return {
        "cluster": cluster,
        "completed": all(each.progress is Progress.COMPLETED for each in rows),
        "moves": [
            {
                "topic": each.at.topic,
                "partition": each.at.number,
                "broker": each.broker,
                "to": each.target,
                "progress": str(each.progress),
                "log_dir": each.path,
                "future_log_dir": each.future,
                "offset_lag": each.lag,
                "directory": each.directory,
                "recorded": each.recorded,
                "why": each.why,
            }
            for each in rows
        ],
    }
