"""The stateful operator: the key is one shard of one cluster, its state one packed value.

Input: the sources' rows of the shard. Output: one row per shard and batch, the report; rows about
the cluster as a whole, whose number is negative, pass unchanged. The work is in
`streams.spark.shard_batch`, which is imported when there are rows: one of the processes with this
operator only requests its state's schema.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

# As DDL, Spark would start its parser: 0.1 s of each start.
OUTPUT: Final = (
    StructType()
    .add("cluster", "string")
    .add("shard", "integer")
    .add("ordinal", "long")
    .add("payload", "binary")
)
_STATE: Final = StructType().add("packed", "binary")


class ReplicaTracker(StatefulProcessor):
    """Stores the shards' states, and applies batches to them."""

    def __init__(self, transitions: str) -> None:
        self._transitions = Path(transitions)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("shard", _STATE)

    def handleInputRows(  # type: ignore[override]  # noqa: N802
        self,
        key: Any,  # noqa: ANN401
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ANN401, ARG002, N803
    ) -> Iterator[Row]:
        cluster, shard = key
        if shard < 0:
            for row in rows:
                payload = bytes(row.chunk)
                yield Row(cluster=cluster, shard=shard, ordinal=row.ordinal, payload=payload)
            return
        from streams.spark.shard_batch import track

        ordered = [bytes(row.chunk) for row in sorted(rows, key=lambda row: int(row.ordinal))]
        before = self._state.get()
        packed = None if before is None else bytes(before[0])
        state, report = track(cluster, shard, packed, ordered, self._transitions)
        self._state.update((state,))
        yield Row(cluster=cluster, shard=shard, ordinal=0, payload=report)

    def close(self) -> None:
        """Do nothing: there is no resource to release."""
