"""The stateful operator: one shard of one cluster's replicas a key, its state one packed value.

In: the source's rows of the shard. Out: one row a shard and batch, the report; the cluster's own
rows pass unchanged. Transitions go to Parquet on the way.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from migration.shard import Shard, ShardBatch
from streams.garbage import without_garbage_collection
from streams.job.packing import pack_report, pack_shard, unpack_shard
from streams.source.chunks import CLUSTER, Kind, ShardChunk, decoded

OUTPUT: Final = "cluster STRING, shard INT, ordinal BIGINT, payload BINARY"


class ReplicaTracker(StatefulProcessor):
    """Keeps the shards."""

    def __init__(self, transitions: str) -> None:
        self._transitions = Path(transitions)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._state = handle.getValueState("shard", "packed BINARY")

    def handleInputRows(  # type: ignore[override]  # noqa: N802
        self,
        key: Any,  # noqa: ANN401
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ANN401, ARG002, N803
    ) -> Iterator[Row]:
        """Apply one batch's rows of one key."""
        with without_garbage_collection():
            yield from self._handle(key, rows)

    def _handle(self, key: tuple[str, int], rows: Iterator[Row]) -> Iterator[Row]:
        cluster, shard = key
        if shard == CLUSTER:
            for row in rows:
                yield Row(
                    cluster=cluster, shard=shard, ordinal=row.ordinal, payload=bytes(row.chunk)
                )
            return
        ordered = sorted(rows, key=lambda row: int(row.ordinal))
        chunks = [ShardChunk.unpack(bytes(row.chunk)) for row in ordered]
        before = self._state.get()
        state, held = (Shard(), []) if before is None else unpack_shard(bytes(before[0]))
        batch = ShardBatch(state)
        held = take(batch, held, chunks)
        report = batch.finish()
        self._state.update((pack_shard(state, held),))
        path = None
        table = batch.table
        if table is not None and len(table):
            # The process that only looks at the operator need not wait for Arrow.
            from streams.job.transitions import write_transitions

            path = write_transitions(
                self._transitions,
                cluster,
                shard,
                chunks[-1].until,
                table,
                batch.transitions.topics,
                state.numbers.ids(),
            )
        payload = pack_report(
            report,
            str(path.relative_to(self._transitions)) if path else None,
            0 if table is None else len(table),
        )
        yield Row(cluster=cluster, shard=shard, ordinal=0, payload=payload)

    def close(self) -> None:
        """Nothing is held."""


def take(batch: ShardBatch, held: list[ShardChunk], chunks: list[ShardChunk]) -> list[ShardChunk]:
    """Apply chunks in order; those that wait for their transaction's end come back.

    Raises:
        WireError: a record cannot be decoded.
    """
    waiting = list(held)
    for chunk in chunks:
        if chunk.kind is Kind.COMMITTED:
            batch.apply(decoded(chunk.records), chunk.until)
        elif chunk.kind is Kind.HELD:
            waiting.append(chunk)
        elif chunk.kind is Kind.RELEASE:
            for each in waiting:
                batch.apply(decoded(each.records), each.until)
            waiting = []
        elif chunk.kind is Kind.DROP:
            waiting = []
    snapshot = [chunk for chunk in chunks if chunk.kind is Kind.SNAPSHOT]
    if snapshot:
        waiting = []
        batch.replace(
            snapshot[0].until - 1,
            snapshot[0].timestamp_ms,
            (record for chunk in snapshot for _, _, record in decoded(chunk.records)),
        )
    return waiting
