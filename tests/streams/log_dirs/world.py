"""Short ways to say what a broker answers."""

from collections.abc import Iterable, Mapping

from streams.kafka.broker_values import LogDirAnswer, ReplicaPlace, TopicPartition
from streams.log_dirs.compare import Hosted, Inputs
from streams.log_dirs.remembered import KnownPartition, LocalDir

A, B = "/a", "/b"
OURS = LocalDir(
    is_own=True,
    directory_id="uSLaubyUxZGsRKrz8FtoCw",
    folders=frozenset({"t-0", "t-1", "t-2", "t-3"}),
)
NOT_OURS = LocalDir(is_own=False, trouble="no such directory")
BAD_FILE = LocalDir(
    is_own=False, trouble="has no meta.properties", folders=OURS.folders, has_bad_file=True
)


def place(
    partition: int, topic: str = "t", *, size: int = 10, future: bool = False
) -> ReplicaPlace:
    return ReplicaPlace(topic, partition, size, 0, future)


def log_dir(
    path: str, *partitions: int, error: int = 0, futures: Iterable[int] = ()
) -> LogDirAnswer:
    lying = [*map(place, partitions), *(place(each, future=True) for each in futures)]
    return LogDirAnswer(path, error, 1000, 900, tuple(lying))


def inputs(
    now_ms: int = 1000,
    *,
    local_dirs: Mapping[str, LocalDir] | None = None,
    partitions: Mapping[TopicPartition, KnownPartition] | None = None,
    hosted: Hosted | None = None,
) -> Inputs:
    return Inputs(2, now_ms, local_dirs or {}, partitions or {}, hosted)
