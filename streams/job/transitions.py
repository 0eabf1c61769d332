"""Replica transitions to Parquet, written where they are found: on the executors.

A file's name is made of what a repeated batch has in common with the first try, so a repetition
writes the same bytes over it; the store names the files that belong to committed batches.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from migration.directory_ids import DirectoryId, to_text
from migration.shard import Transition
from migration.summary import ReplicaState

_STATES: Final = [str(each) for each in ReplicaState]
_NUMBER: Final = {state: number for number, state in enumerate(ReplicaState)}
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())

SCHEMA: Final = pa.schema(
    [
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
    directory: Path, cluster: str, shard: int, until: int, transitions: Sequence[Transition]
) -> Path:
    """Write one shard's transitions of one batch, which ends before the metadata offset `until`."""
    folder = directory / f"cluster={cluster}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{until:020d}-{shard:03d}.parquet"
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(_table(transitions), fresh)
    fresh.replace(path)
    return path


def _table(transitions: Sequence[Transition]) -> pa.Table:
    columns = list(zip(*transitions, strict=True))
    offsets, moments, topics, topic_ids, partitions, brokers, was, was_ids, now, now_ids = columns
    return pa.table(
        [
            pa.array(offsets, pa.int64()),
            pa.array(moments, pa.timestamp("ms", tz="UTC")),
            _texts(topics),
            _ids(topic_ids),
            pa.array(partitions, pa.int32()),
            pa.array(brokers, pa.int32()),
            _states(was),
            _ids(was_ids),
            _states(now),
            _ids(now_ids),
        ],
        schema=SCHEMA,
    )


def _texts(values: Sequence[str]) -> pa.DictionaryArray:
    seen: dict[str, int] = {}
    numbers = [seen.setdefault(each, len(seen)) for each in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, pa.int32()), pa.array(list(seen), pa.string())
    )


def _ids(values: Sequence[DirectoryId | bytes | None]) -> pa.DictionaryArray:
    seen: dict[bytes | None, int] = {}
    numbers = [None if each is None else seen.setdefault(each, len(seen)) for each in values]
    texts = [to_text(each) for each in seen if each is not None]
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, pa.int32()), pa.array(texts, pa.string())
    )


def _states(values: Sequence[ReplicaState | None]) -> pa.DictionaryArray:
    numbers = [None if each is None else _NUMBER[each] for each in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, pa.int32()), pa.array(_STATES, pa.string())
    )
