"""The stored state of the disks: the input of `compare`, which `memory` stores."""

from collections.abc import Mapping
from typing import NamedTuple

from migration.observed.facts import ReplicasCutOff
from streams.kafka.broker_values import ReplicaPlace


class LocalDir(NamedTuple):
    """The state of a path of this host that a broker uses as a log directory.

    Attributes:
        is_own: whether it can be listed and its `meta.properties` names that broker and cluster.
        directory_id: 22 characters; None when `meta.properties` has none, or could not be read.
        trouble: why `is_own` is False, or a problem although it is True; a sentence.
        folders: the names of all folders in it; empty if it cannot be listed.
        has_bad_file: whether it can be listed, but its `meta.properties` is missing, malformed or
            another broker's.
        version: of its `meta.properties`; None unless `is_own`.
    """

    is_own: bool
    directory_id: str | None = None
    trouble: str | None = None
    folders: frozenset[str] = frozenset()
    has_bad_file: bool = False
    version: int | None = None


class KnownDir(NamedTuple):
    """The last known state of a log directory.

    Attributes:
        error: in the broker's last answer; 0 or Kafka's error code.
        total_bytes: of the volume.
        usable_bytes: of the volume.
        seen_ms: when it last answered without error; the time of `replicas`.
        directory_id: the last one that was read there.
        local: whether it was verified to be on this host.
        replicas: current and future ones.
    """

    error: int
    total_bytes: int | None
    usable_bytes: int | None
    seen_ms: int
    directory_id: str | None
    local: bool
    replicas: tuple[ReplicaPlace, ...]


class CutOffDir(NamedTuple):
    """A directory whose replicas are cut off.

    Attributes:
        fact: reports it.
        unreadable: whether it was unreadable on this host since: only then does being readable show
            that it is back. A disk that can be read may still reject writes.
    """

    fact: ReplicasCutOff
    unreadable: bool


class KnownBroker(NamedTuple):
    """The stored state of one broker's disks, by path."""

    log_dirs: Mapping[str, KnownDir]
    cut_off: Mapping[str, CutOffDir]


NOTHING = KnownBroker({}, {})
"""The state of a broker that never answered."""


class KnownPartition(NamedTuple):
    """The stored state of a partition.

    Attributes:
        replicas: their number.
        topic_id: of the topic whose end is stored; None before its leader reported one.
        end_offset: the largest one since the last fall; None before the leader reported one.
        seen_ms: when this end was first reported.
        leader: the broker that reported it.
        leader_epoch: that leader's.
    """

    replicas: int
    topic_id: str | None = None
    end_offset: int | None = None
    seen_ms: int = 0
    leader: int = -1
    leader_epoch: int = -1
