"""Replica transitions to Parquet, written where they are found: on the executors.

A file's name is made of what a repeated batch has in common with the first try, so a repetition
writes the same bytes over it; the store names the files that belong to committed batches.
"""

import os
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from migration.directory_ids import DirectoryId, to_text
from migration.transitions import ABSENT, STATES, Numbers, directory_of, state_of

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())

SCHEMA: Final = pa.schema(
    [
        ("metadata_log", pa.int32()),
        ("metadata_offset", pa.int64()),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
        ("topic", _TEXT),
        ("topic_id", _TEXT),
        ("partition", pa.int32()),
        ("broker", pa.int32()),
        ("was", _TEXT),
        ("was_directory", _TEXT),
        ("now", _TEXT),
        ("directory", _TEXT),
    ]
)


def write_transitions(
    directory: Path,
    cluster: str,
    shard: int,
    until: tuple[int, int],
    table: Numbers,
    topics: list[tuple[bytes, str]],
    ids: list[DirectoryId],
) -> Path:
    """Write one shard's transitions of one batch.

    `until`: the metadata log's number, and the offset before which the batch ends. `topics` and
    `ids`: what the table's numbers stand for. Where another log begins, every replica of the one
    before goes away, at offset -1.
    """
    log, offset = until
    folder = directory / f"cluster={cluster}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{log:03d}-{offset:020d}-{shard:03d}.parquet"
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(_arrow(log, table, topics, ids), fresh)
    fresh.replace(path)
    return path


def _arrow(
    log: int, table: Numbers, named: list[tuple[bytes, str]], ids: list[DirectoryId]
) -> pa.Table:
    offsets, moments, topics, partitions, brokers, was, now = table.T
    directories = pa.array([to_text(each) for each in ids], pa.string())
    states = pa.array([str(each) for each in STATES], pa.string())
    topic_ids = pa.array([to_text(each) for each, _ in named], pa.string())
    topic_names = pa.array([name for _, name in named], pa.string())
    return pa.table(
        [
            pa.array(np.full(len(table), log, dtype=np.int32)),
            pa.array(offsets),
            pa.array(moments).cast(pa.timestamp("ms", tz="UTC")),
            _named(topics, topic_names),
            _named(topics, topic_ids),
            pa.array(partitions.astype(np.int32)),
            pa.array(brokers.astype(np.int32)),
            _named(state_of(was), states, was == ABSENT),
            _named(directory_of(was), directories, was == ABSENT),
            _named(state_of(now), states, now == ABSENT),
            _named(directory_of(now), directories, now == ABSENT),
        ],
        schema=SCHEMA,
    )


def _named(
    numbers: Numbers,
    names: pa.Array,
    absent: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None,
) -> pa.DictionaryArray:
    indices = pa.array(numbers.astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, names)
