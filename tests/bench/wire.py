"""(b) The wire reader against the best existing libraries, on one core.

Three sides read the same log in the same process, in changing order: ours, the best kept
combination (kafka-python's record reader with its CRC check, kio's entity reader on our schemas),
and kio alone (`read_batch`, entity reader). Each side builds what its user needs. The others build
per batch a list of (offset, timestamp, typed record). Ours is what the job does: it routes a slice
to shards, and decodes the chunks to columns (`streams.spark.rows`), which have the fields of
partition records that Kraftgate uses. The comparison uses CPU time, since one core does the work
and other processes may use the rest; the values that each side read are counted and compared first.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kafka.record.memory_records import MemoryRecords
from kio.records.readers import read_batch
from kio.serial import entity_reader

from migration.shard.partition_records import PartitionRecords
from streams.metadata.index import LogIndex
from streams.metadata.offsets import START
from streams.metadata.plan import Planner, Slice
from streams.spark.rows import ShardChunk, rows
from streams.wire.batches import CONTROL_BIT
from streams.wire.schema import RECORDS
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say

Typed = list[tuple[int, Any, Any]]

_READERS: Final = {bytes((1, *key)): entity_reader(kind) for key, kind in RECORDS.items()}
_FRAME_BYTES: Final = 3
OURS_MIN: Final = 1000.0


def best_kept(log: bytes) -> Iterator[Typed]:
    """kafka-python's batches and records, kio's values (Rust)."""
    readers = _READERS
    left = MemoryRecords(log)
    while (batch := left.next_batch()) is not None:
        if not batch.validate_crc():
            raise MeasuringFailed("kafka-python finds a CRC wrong")
        if batch.is_control_batch:
            continue
        yield [
            (one.offset, one.timestamp, readers[one.value[:3]](one.value, _FRAME_BYTES)[0])
            for one in batch
        ]


def kio_alone(log: bytes) -> Iterator[Typed]:
    """kio's `read_batch`, kio's values."""
    readers = _READERS
    position = 0
    while position < len(log):
        batch, size = read_batch(log, position)
        position += size
        if batch.attributes & CONTROL_BIT:
            continue
        yield [
            (one.offset, one.timestamp, readers[one.value[:3]](one.value, _FRAME_BYTES)[0])
            for one in batch.records
            if one.value is not None
        ]


def ours(parts: Sequence[Slice]) -> Iterator[PartitionRecords]:
    """The job's way from the bytes of a slice to columns, in the shards."""
    for part in parts:
        for _, shard, _, packed in rows("bench", part):
            if shard >= 0:
                yield ShardChunk.unpack(packed).decoded()[0]


def slices(path: Path) -> list[Slice]:
    """Return the log as the planner divides it."""
    index = LogIndex(path.parent, START)
    index.refresh()
    planner = Planner(index, finite=True)
    return planner.slices(START, planner.latest(START, 2**40))


def counted(batches: Iterator[Typed]) -> tuple[int, int, int, int]:
    """Totals of what a side read: records; those of partitions, their offsets and partitions."""
    count = of_partitions = offsets = ids = 0
    for batch in batches:
        for offset, _, record in batch:
            count += 1
            partition = getattr(record, "partition_id", None)
            if partition is not None:
                of_partitions += 1
                offsets += offset
                ids += partition
    return count, of_partitions, offsets, ids


def timed(read: Iterator[object]) -> float:
    """Return the CPU seconds of reading it all; each part is released before the next."""
    gc.collect()
    began = time.process_time()
    for _ in read:
        pass
    return time.process_time() - began


def run(path: Path, runs: int) -> list[Figure]:
    """Measure all sides `runs` times.

    Raises:
        MeasuringFailed: the sides read different values.
    """
    log = path.read_bytes()
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        return _figures(log, slices(path), runs)
    finally:
        os.sched_setaffinity(0, allowed)


def _figures(log: bytes, parts: Sequence[Slice], runs: int) -> list[Figure]:
    sides: dict[str, Callable[[], Iterator[object]]] = {
        "ours": lambda: ours(parts),
        "best kept": lambda: best_kept(log),
        "kio alone": lambda: kio_alone(log),
    }
    count, *totals = counted(best_kept(log))
    if (count, *totals) != counted(kio_alone(log)):
        raise MeasuringFailed("the sides do not read the same")
    found = [
        (len(each.offsets), int(each.offsets.sum()), int(each.partitions.sum()))
        for each in ours(parts)
    ]
    if [sum(each) for each in zip(*found, strict=True)] != totals:
        raise MeasuringFailed("the columns have other partitions")
    say(f"b: each side reads {count} data records, the same ones")
    names = list(sides)
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(runs):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            rates[name].append(count / timed(sides[name]()) / 1000)
        say(f"b: run {number + 1}: " + ", ".join(f"{n} {r[-1]:.0f} k/s" for n, r in rates.items()))
    return [
        Figure(
            part="b", name="best kept: kafka-python + kio", unit="k records/s", runs=rates[names[1]]
        ),
        Figure(part="b", name="kio's read_batch + kio", unit="k records/s", runs=rates[names[2]]),
        Figure(
            part="b",
            name="ours to columns, routed to shards",
            unit="k records/s",
            runs=rates["ours"],
            bound=OURS_MIN,
            at_least=True,
        ),
        Figure(
            part="b",
            name="ours to columns against the best kept to objects",
            unit="k records/s",
            runs=rates["ours"],
            compared_with=rates["best kept"],
            bound=1.0,
            at_least=True,
        ),
        Figure(
            part="b",
            name="ours to columns against kio alone to objects",
            unit="k records/s",
            runs=rates["ours"],
            compared_with=rates["kio alone"],
            bound=3.0,
            at_least=True,
        ),
    ]
