"""Writes replica transitions to Parquet, on the executors that find them.

A file's name depends only on properties that a repeated batch has in common with the first attempt,
so a repetition overwrites it with the same bytes; the store names the files of committed batches.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from migration.metadata.directory_ids import DirectoryId, to_text
from migration.shard.transitions import ABSENT, STATES, Numbers, directory_of, state_of
from migration.values.timestamps import EARLIEST_MS, LATEST_MS
from streams.state.files import make_parents

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
_RANGES: Final = ["metadata_offset", "timestamp", "partition", "broker"]
"""Statistics of the other columns, whose values have no useful order, took half of the time."""
_REPEATED: Final = [each.name for each in SCHEMA if each.type == _TEXT] + ["timestamp", "broker"]


class TransitionsUnreadable(Exception):
    """A file of transitions that the store names is missing or damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionColumns:
    """Changes of replicas' directory states as columns, in the order of the metadata logs.

    Attributes:
        logs: number of the cluster's metadata log, counted from 1.
        offsets: of the record; -1: the previous log has ended.
        at_ms: its timestamp; never decreasing, so that sums over time equal those over offsets.
        was: the state before, as an index into STATES; ABSENT: the replica did not exist.
        now: the state after, as `was`.
    """

    logs: Numbers
    offsets: Numbers
    at_ms: Numbers
    brokers: Numbers
    was: Numbers
    now: Numbers


def read_transitions(directory: Path, paths: Sequence[str]) -> TransitionColumns:
    """Read the transitions in these files, without topics and directories.

    `paths`: below `directory`, as the store names those of committed batches.

    Raises:
        TransitionsUnreadable: a file is missing or damaged.
    """
    columns = ["metadata_log", "metadata_offset", "timestamp", "broker", "was", "now"]
    read = [_numbers(_table(directory / path, columns)) for path in paths]
    table = np.concatenate(read) if read else np.empty((0, len(columns)), dtype=np.int64)
    # Each file is of one shard and batch; their records interleave.
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    logs, offsets, at_ms, brokers, was, now = table.T
    return TransitionColumns(
        logs=logs,
        offsets=offsets,
        at_ms=np.maximum.accumulate(np.clip(at_ms, EARLIEST_MS, LATEST_MS)),
        brokers=brokers,
        was=was,
        now=now,
    )


def _table(path: Path, columns: list[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=columns)
    except FileNotFoundError as error:
        raise TransitionsUnreadable(f"{path} does not exist") from error
    except OSError as error:
        raise TransitionsUnreadable(f"{path} cannot be read: {error}") from error
    except pa.ArrowException as error:
        raise TransitionsUnreadable(f"{path} is damaged: {error}") from error


def _numbers(table: pa.Table) -> Numbers:
    states = pa.array([str(each) for each in STATES], pa.string())
    found = [
        table.column("metadata_log").cast(pa.int64()),
        table.column("metadata_offset"),
        table.column("timestamp").cast(pa.int64()),
        table.column("broker").cast(pa.int64()),
        *(
            pc.fill_null(pc.index_in(table.column(name).cast(pa.string()), states), ABSENT)
            for name in ("was", "now")
        ),
    ]
    return np.stack([each.to_numpy().astype(np.int64) for each in found], axis=1)


def write_transitions(
    directory: Path,
    cluster: str,
    shard: int,
    until: tuple[int, int],
    table: Numbers,
    topics: list[tuple[bytes, str]],
    ids: list[DirectoryId],
) -> Path:
    """Write one shard's transitions of one batch; return the file's path.

    `until`: the metadata log's number, and the offset before which the batch ends. `topics` and
    `ids`: the values of the table's numbers. When another log begins, every replica of the previous
    one is removed, at offset -1.
    """
    log, offset = until
    folder = directory / f"cluster={cluster}"
    path = folder / f"{log:03d}-{offset:020d}-{shard:03d}.parquet"
    make_parents(path, 2)
    # Readers of the data set ignore a name that begins with a dot: one may be left after a kill.
    fresh = path.with_name(f".{path.stem}.{os.getpid()}.tmp")
    try:
        pq.write_table(
            _arrow(log, table, topics, ids),
            fresh,
            use_dictionary=_REPEATED,
            write_statistics=_RANGES,
        )
        fresh.replace(path)
    except OSError:  # on a full disk, each further attempt would keep it full
        fresh.unlink(missing_ok=True)
        raise
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


def transition_rows(directory: Path, path: str) -> list[dict[str, object]]:
    """Return the rows of a file as the store names it; the timestamp as ms, `timestamp_ms`.

    Raises:
        TransitionsUnreadable: the file is missing or damaged.
    """
    table = _table(directory / path, SCHEMA.names)
    at = table.schema.get_field_index("timestamp")
    table = table.set_column(at, "timestamp_ms", table.column(at).cast(pa.int64()))
    rows: list[dict[str, object]] = table.to_pylist()
    return rows
