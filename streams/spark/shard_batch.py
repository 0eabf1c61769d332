"""Applies one batch to one shard: packed state and rows in, new state and report out."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from migration.observed.facts import ShardFact
from migration.shard.apply import Shard, ShardBatch
from streams.process.garbage import without_garbage_collection
from streams.spark.chunks import ChunkKind, ShardChunk, decoded
from streams.spark.packing import pack_report, pack_shard, unpack_shard
from streams.spark.transition_files import write_transitions
from streams.state.fact_codec import unpack


class Tracked(NamedTuple):
    """The result of a batch for a shard, packed."""

    state: bytes
    report: bytes


def track(
    cluster: str, shard: int, before: bytes | None, packed: Sequence[bytes], transitions: Path
) -> Tracked:
    """Apply a batch's chunks, in order; write the transitions to Parquet below `transitions`.

    Raises:
        WireError: a record cannot be decoded.
        UnknownStateFormat: the state is another version's.
    """
    with without_garbage_collection():
        chunks = [ShardChunk.unpack(each) for each in packed]
        state, held = (Shard(), []) if before is None else unpack_shard(before)
        batch = ShardBatch(state)
        held = take(batch, held, chunks)
        for chunk in chunks:
            if chunk.kind is ChunkKind.SEEN:
                for fact in chunk.facts():
                    batch.compare(cast(ShardFact, unpack(fact)))
        report = batch.finish()
        path = None
        table = batch.table
        if table is not None and len(table):
            log, until = max(
                (chunk.log, chunk.until) for chunk in chunks if chunk.kind is not ChunkKind.SEEN
            )
            path = write_transitions(
                transitions,
                cluster,
                shard,
                (log, until),
                table,
                batch.transitions.topics,
                state.numbers.ids(),
            )
        return Tracked(
            pack_shard(state, held),
            pack_report(
                report,
                str(path.relative_to(transitions)) if path else None,
                0 if table is None else len(table),
            ),
        )


def take(batch: ShardBatch, held: list[ShardChunk], chunks: list[ShardChunk]) -> list[ShardChunk]:
    """Apply chunks in order; return those that wait for their transaction's end.

    Raises:
        WireError: a record cannot be decoded.
    """
    waiting = list(held)
    for chunk in chunks:
        if chunk.kind is ChunkKind.COMMITTED:
            batch.apply(decoded(chunk.records), chunk.until)
        elif chunk.kind is ChunkKind.HELD:
            waiting.append(chunk)
        elif chunk.kind is ChunkKind.RELEASE:
            for each in waiting:
                # They take effect at the transaction's end, with all earlier records.
                batch.apply(decoded(each.records), chunk.until)
            waiting = []
        elif chunk.kind is ChunkKind.DROP:
            waiting = []
        elif chunk.kind is ChunkKind.RESTART:
            waiting = []
            batch.restart(chunk.timestamp_ms)
    snapshot = [chunk for chunk in chunks if chunk.kind is ChunkKind.SNAPSHOT]
    if snapshot:
        waiting = []
        batch.replace(
            snapshot[0].until - 1,
            snapshot[0].timestamp_ms,
            (record for chunk in snapshot for _, _, record in decoded(chunk.records)),
        )
    return waiting
