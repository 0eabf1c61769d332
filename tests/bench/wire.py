"""(b) The wire reader against the best existing libraries: batches and typed values, on one core.

Three sides read the same bytes in the same process, in changing order: ours
(`streams.wire.batches.read_batches`, `streams.wire.records.read_record`), the best kept
combination (kafka-python's record reader with its CRC check, kio's entity reader on our schemas),
and kio alone (`read_batch`, entity reader). Each side builds what its user needs: per batch a list
of (offset, timestamp, typed record). The comparison uses CPU time, since one core does the work and
other processes may use the rest; the values that each side read are counted and compared first.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kafka.record.memory_records import MemoryRecords
from kio.records.readers import read_batch
from kio.serial import entity_reader

from streams.wire.batches import CONTROL_BIT, read_batches
from streams.wire.records import read_record
from streams.wire.schema import RECORDS
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say

Typed = list[tuple[int, Any, Any]]
Side = Callable[[bytes], Iterator[Typed]]

_READERS: Final = {bytes((1, *key)): entity_reader(kind) for key, kind in RECORDS.items()}
_FRAME_BYTES: Final = 3


def ours(log: bytes) -> Iterator[Typed]:
    """streams.wire."""
    for batch in read_batches(log, file="log"):
        yield batch.decode(read_record)


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


SIDES: Final[dict[str, Side]] = {"ours": ours, "best kept": best_kept, "kio alone": kio_alone}


def told(side: Side, log: bytes) -> tuple[int, int, int, int]:
    """Totals of what a side read: records, offsets, partitions and their ids."""
    count = offsets = partitions = ids = 0
    for batch in side(log):
        for offset, _, record in batch:
            count += 1
            offsets += offset
            partition = getattr(record, "partition_id", None)
            if partition is not None:
                partitions += 1
                ids += partition
    return count, offsets, partitions, ids


def timed(side: Side, log: bytes) -> float:
    """Return the CPU seconds of reading it all; each batch is released before the next."""
    gc.collect()
    began = time.process_time()
    for _ in side(log):
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
        return _figures(log, runs)
    finally:
        os.sched_setaffinity(0, allowed)


def _figures(log: bytes, runs: int) -> list[Figure]:
    read = {name: told(side, log) for name, side in SIDES.items()}
    if len(set(read.values())) != 1:
        raise MeasuringFailed(f"the sides do not read the same: {read}")
    count = read["ours"][0]
    say(f"b: each side reads {count} data records, the same ones")
    names = list(SIDES)
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(runs):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            rates[name].append(count / timed(SIDES[name], log) / 1000)
        say(f"b: run {number + 1}: " + ", ".join(f"{n} {r[-1]:.0f} k/s" for n, r in rates.items()))
    return [
        Figure(
            part="b", name="best kept: kafka-python + kio", unit="k records/s", runs=rates[names[1]]
        ),
        Figure(part="b", name="kio's read_batch + kio", unit="k records/s", runs=rates[names[2]]),
        Figure(
            part="b",
            name="ours against the best kept",
            unit="k records/s",
            runs=rates["ours"],
            compared_with=rates["best kept"],
            bound=1.0,
            at_least=True,
        ),
        Figure(
            part="b",
            name="ours against kio alone",
            unit="k records/s",
            runs=rates["ours"],
            compared_with=rates["kio alone"],
            bound=3.0,
            at_least=True,
        ),
    ]
