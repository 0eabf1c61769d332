"""Brokers with directories for the tests of moves."""

from collections.abc import Mapping

from migration.observed.probed import (
    Broker,
    LogDir,
    Partition,
    TopicPartition,
    Topics,
)

D0, D1, D2 = "/d0", "/d1", "/d2"


def at(name: str) -> TopicPartition:
    """`t-3`."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def log_dir(
    path: str,
    sizes: Mapping[str, int] | None = None,
    *,
    free: int | None = 1000,
    total: int | None = 2000,
    error: int = 0,
    futures: Mapping[str, int | None] | None = None,
    future_sizes: Mapping[str, int] | None = None,
) -> LogDir:
    """A directory; `sizes`: bytes of its replicas by name; `futures`: the lags of future ones."""
    current = {at(name): size for name, size in (sizes or {}).items()}
    lags = {at(name): lag for name, lag in (futures or {}).items()}
    return LogDir(
        path=path,
        error=error,
        total_bytes=total,
        usable_bytes=free,
        replicas=frozenset(current),
        futures=frozenset(lags),
        sizes=current,
        future_lags=lags,
        future_sizes={at(name): size for name, size in (future_sizes or {}).items()},
    )


def broker(id_: int, *log_dirs: LogDir) -> Broker:
    return Broker(id=id_, endpoint=f"b{id_}:9092", release=(3, 9), log_dirs=log_dirs)


def topics(partitions: Mapping[str, tuple[int, ...]], alive: frozenset[int]) -> Topics:
    return Topics(
        cluster_id="c",
        broker_ids=alive,
        partitions=tuple(
            Partition(at=at(name), replicas=replicas, isr=replicas, leader=replicas[0])
            for name, replicas in partitions.items()
        ),
    )
