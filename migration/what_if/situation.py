"""The input of a prediction: the cluster, the broker's disks, and the metadata log."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from migration.comparison.differences import Placed
from migration.comparison.result import Identity, certain, identify
from migration.image.summary import Mode
from migration.metadata.directory_ids import from_text
from migration.metadata.replica_state import ReplicaState
from migration.observed.log_dirs import disks_of
from migration.observed.probed import (
    NOT_ASKED,
    Broker,
    LogDir,
    Maybe,
    Partition,
    TopicPartition,
    Topics,
    Unknown,
)
from migration.values.evidence import named
from migration.values.paths import collapsed

SETTINGS: Final = (
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "process.roles",
    "zookeeper.connect",
    "zookeeper.metadata.migration.enable",
)
"""The server properties of the broker that `mode_of` and `metadata_dir` read."""
_NAMED_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The directory of one of the broker's replicas in the metadata log.

    Attributes:
        directory: the id, 22 characters; reserved, if there is no real one.
    """

    state: ReplicaState
    directory: str

    @property
    def is_real(self) -> bool:
        """Whether it is a real directory, registered or not."""
        return self.state in {ReplicaState.ASSIGNED, ReplicaState.OFFLINE}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """The state of a cluster at one moment.

    Attributes:
        broker: the broker that the question is about.
        brokers: all known brokers by id, with their answers.
        mode: of the broker; None: not known.
        metadata_dir: where the broker keeps its metadata log.
        assignments: of the broker's replicas; those that the metadata log does not list are absent.
        no_election: why no controller is known to elect leaders; None: one does.
    """

    broker: int
    topics: Topics
    brokers: Mapping[int, Broker]
    mode: Mode | None
    metadata_dir: Maybe[str] = NOT_ASKED
    assignments: Maybe[Mapping[TopicPartition, Assignment]] = NOT_ASKED
    no_election: str | None = NOT_ASKED.why

    @cached_property
    def log_dirs(self) -> Maybe[tuple[LogDir, ...]]:
        known = self.brokers.get(self.broker)
        return Unknown("no broker lists it as alive") if known is None else known.log_dirs

    @cached_property
    def online(self) -> frozenset[str]:
        return frozenset(each.path for each in self._told if not each.error)

    @cached_property
    def places(self) -> Mapping[TopicPartition, str]:
        """The paths of the broker's logs, without future replicas."""
        return {at: each.path for each in self._told if not each.error for at in each.replicas}

    @cached_property
    def hosted(self) -> tuple[Partition, ...]:
        """The partitions with a replica on the broker, as the brokers list them."""
        return tuple(each for each in self.topics.partitions if self.broker in each.replicas)

    @cached_property
    def listed(self) -> frozenset[TopicPartition]:
        return frozenset(each.at for each in self.topics.partitions)

    @cached_property
    def hidden(self) -> str | None:
        """Why the broker may have partitions that no broker lists; None: no disk shows one.

        A broker omits topics that the principal may not describe. If this broker is down, the
        disks of the others show whether there are any.
        """
        if not isinstance(self.log_dirs, Unknown):
            return None
        described = [
            each.log_dirs
            for each in self.brokers.values()
            if not isinstance(each.log_dirs, Unknown)
        ]
        found = {at for dirs in described for each in dirs for at in each.replicas} - self.listed
        if self.broker in self.topics.broker_ids or not described:
            why = self.log_dirs.why
        elif found:
            why = f"other brokers have logs of {named(sorted(found), _NAMED_MAX)}"
        else:
            return None
        return (
            "partitions may be hidden from the principal, which needs DESCRIBE on CLUSTER and on"
            f" all topics: {why}"
        )

    @cached_property
    def alive(self) -> frozenset[int]:
        """The other brokers that the brokers list as alive."""
        return self.topics.broker_ids - {self.broker}

    @cached_property
    def doubtful(self) -> Mapping[int, str]:
        """Those of them whose directories are unknown, such as a frozen broker's, and why."""
        asked = {id_: self.brokers.get(id_) for id_ in sorted(self.alive)}
        found = {id_: NOT_ASKED if one is None else one.log_dirs for id_, one in asked.items()}
        return {id_: each.why for id_, each in found.items() if isinstance(each, Unknown)}

    @cached_property
    def broken(self) -> frozenset[tuple[int, TopicPartition]]:
        """Replicas of other brokers that must be in an offline directory, in sync or not."""
        found = set()
        for id_, broker in self.brokers.items():
            log_dirs = () if isinstance(broker.log_dirs, Unknown) else broker.log_dirs
            if id_ == self.broker or not any(each.error for each in log_dirs):
                continue
            there = {at for each in log_dirs if not each.error for at in each.replicas}
            found |= {
                (id_, each.at)
                for each in self.topics.partitions
                if id_ in each.replicas and each.at not in there
            }
        return frozenset(found)

    @cached_property
    def identities(self) -> Mapping[str, Identity]:
        """The directory id of each path of the broker, if it is certain."""
        known = self.brokers.get(self.broker)
        found = identify(self._placed(), disks_of(() if known is None else (known,)))
        return {each.path: each for each in certain(found)}

    @property
    def _told(self) -> tuple[LogDir, ...]:
        return () if isinstance(self.log_dirs, Unknown) else self.log_dirs

    def _placed(self) -> list[Placed]:
        if isinstance(self.assignments, Unknown):
            return []
        counts: dict[tuple[str, str], int] = {}
        for at, path in self.places.items():
            assigned = self.assignments.get(at)
            if assigned is not None and assigned.is_real:
                key = (path, assigned.directory)
                counts[key] = counts.get(key, 0) + 1
        return [
            Placed(self.broker, path, from_text(id_), count, ())
            for (path, id_), count in counts.items()
        ]


def metadata_dir(settings: Mapping[str, str]) -> Maybe[str]:
    """Return the path of the metadata log of a broker with these server properties."""
    named = settings.get("metadata.log.dir") or settings.get("log.dirs") or settings.get("log.dir")
    first = (named or "").split(",")[0].strip()
    if not first.startswith("/"):
        return Unknown(f"its configuration names no absolute path for the metadata log ({first!r})")
    return collapsed(first)
