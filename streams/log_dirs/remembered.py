"""What is remembered of the disks: the values that `compare` starts from and `memory` keeps."""

from collections.abc import Mapping
from typing import NamedTuple

from migration.observed.facts import ReplicasCutOff
from streams.kafka.broker_values import ReplicaPlace


class Look(NamedTuple):
    """What was found at a path of this host that a broker uses as a log directory.

    Attributes:
        ours: whether it can be listed and its `meta.properties` names that broker and cluster.
        directory_id: 22 characters; None when `meta.properties` has none, or could not be read.
        trouble: why it is not ours, or what is wrong although it is; in words.
    """

    ours: bool
    directory_id: str | None = None
    trouble: str | None = None


class KnownDir(NamedTuple):
    """A log directory as it was last seen.

    Attributes:
        error: what the broker last said of it; 0 or Kafka's error code.
        total_bytes: of the volume.
        usable_bytes: of the volume.
        seen_ms: when it last answered well; the replicas are those of then.
        directory_id: as last read there.
        local: whether it was verified to lie on this host.
        replicas: current and future ones.
    """

    error: int
    total_bytes: int | None
    usable_bytes: int | None
    seen_ms: int
    directory_id: str | None
    local: bool
    replicas: tuple[ReplicaPlace, ...]


class CutOff(NamedTuple):
    """A directory whose replicas are cut off.

    Attributes:
        told: the fact that says so.
        unreadable: whether it was, meanwhile, unreadable on this host: only then does its being
            readable say that it is back. A disk that can be read may still refuse to be written.
    """

    told: ReplicasCutOff
    unreadable: bool


class KnownBroker(NamedTuple):
    """What is remembered of one broker's disks, by path."""

    log_dirs: Mapping[str, KnownDir]
    cut_off: Mapping[str, CutOff]


NOTHING = KnownBroker({}, {})
"""Of a broker that never answered."""


class KnownPartition(NamedTuple):
    """What is remembered of a partition.

    Attributes:
        replicas: how many it has.
        topic_id: of the topic whose end is remembered; None before its leader told one.
        end_offset: the largest seen since the last fall; None before the leader told one.
        seen_ms: when it was first seen to be that.
        leader: who told.
        leader_epoch: that leader's.
    """

    replicas: int
    topic_id: str | None = None
    end_offset: int | None = None
    seen_ms: int = 0
    leader: int = -1
    leader_epoch: int = -1
