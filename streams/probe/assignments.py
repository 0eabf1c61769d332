"""A broker's replicas in the metadata log: the last transition of each, from Parquet.

The store has no single replicas (its image counts them); the transitions that the job wrote result
in their directories. Only files that the store names count: others remain from batches that were
never committed.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from migration.metadata.replica_state import ReplicaState
from migration.observed.probed import Maybe, TopicPartition, Unknown
from migration.what_if.situation import Assignment
from streams.state.store import Store, StoreError

_FOLDER: Final = "transitions"
_COLUMNS: Final = (
    "metadata_log",
    "metadata_offset",
    "topic",
    "topic_id",
    "partition",
    "now",
    "directory",
)

Row = tuple[int, int, str, str, int, str | None, str | None]
"""The `_COLUMNS` of one transition; state and directory are None when the replica was removed."""


def assignments(
    store: Path, cluster: str, broker: int
) -> Maybe[Mapping[TopicPartition, Assignment]]:
    """Return the assignment of each replica of the broker, as of the store's last batch.

    `store`: the store's file; the transitions are in the same directory.
    """
    try:
        with Store.open_readonly(store) as opened:
            files = [each.path for each in opened.transition_files(cluster)]
        paths = (store.parent / _FOLDER / each for each in files)
        return latest(row for path in paths for row in _rows(path, broker))
    except (StoreError, OSError, pa.ArrowException, ValueError) as error:
        return Unknown(f"the replica transitions cannot be read: {error}")


def latest(rows: Iterable[Row]) -> Mapping[TopicPartition, Assignment]:
    """Return the last row of each replica, without names that two topics have at the same time.

    A topic may be deleted and created again under its name: the id distinguishes them.
    """
    last: dict[tuple[str, str, int], Row] = {}
    for row in sorted(rows, key=lambda each: each[:2]):
        _, _, topic, topic_id, partition, _, _ = row
        last[topic, topic_id, partition] = row
    there: dict[TopicPartition, list[Assignment]] = {}
    for _, _, topic, _, partition, state, directory in last.values():
        if state is not None and directory is not None:
            known = Assignment(state=ReplicaState(state), directory=directory)
            there.setdefault(TopicPartition(topic, partition), []).append(known)
    return {at: each[0] for at, each in there.items() if len(each) == 1}


def _rows(file: Path, broker: int) -> Iterator[Row]:
    # ParquetFile, since read_table treats "cluster=..." in the path as a column of the table.
    with pq.ParquetFile(file) as opened:
        table = opened.read(columns=[*_COLUMNS, "broker"])
    table = table.filter(pc.equal(table["broker"], broker))
    yield from zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True)
