"""What a job has written: rows of the files that the store names, and the summary's content."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from migration.image.summary import ClusterSummary
from streams.state.store import Store

_PLACES = ("was", "was_directory"), ("now", "directory")


def written(state: Path, cluster: str) -> list[tuple[object, ...]]:
    """Return the transitions of committed batches; without a time if another log causes them."""
    with Store.open_readonly(state / "store.db") as store:
        files = store.transition_files(cluster)
    rows: list[tuple[object, ...]] = []
    for file in files:
        table = pq.read_table(state / "transitions" / file.path)
        at = table.schema.get_field_index("timestamp")
        table = table.set_column(at, "timestamp", table.column(at).cast(pa.int64()))
        assert table.num_rows == file.rows
        rows += [
            (
                each["metadata_offset"],
                None if each["metadata_offset"] < 0 else each["timestamp"],
                *(each[name] for name in ("topic_id", "topic", "partition", "broker")),
                *((each[name], each[of_it]) for name, of_it in _PLACES),
            )
            for each in table.to_pylist()
        ]
    return sorted(rows, key=repr)


def picture(now: ClusterSummary) -> tuple[object, ...]:
    """Return what all summaries of one log have in common."""
    return now.metadata_log, now.phase, now.topics, now.partitions, now.brokers
