"""Applies one batch to one shard: packed state and rows in, new state and report out.

State and report are bytes, for Spark's state store and rows. There is one packed value per shard: a
state operation from Python is a round trip to the JVM, so state per replica would cost ten times as
much (measured; see the README's figures). Directory ids are stored once in a table. The first
element of a state is the format's version.
"""

from collections.abc import Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Final, cast

import msgpack
import numpy as np
from pydantic import TypeAdapter

from migration.comparison.differences import Comparisons, Difference, Last
from migration.metadata.partitions import LOST_NUMBER, Numbers, Replicas
from migration.observed.facts import ShardFact
from migration.shard.apply import Shard, ShardBatch, ShardTopic
from migration.shard.lists import Integers, Lists, integers
from migration.shard.partition_records import PartitionRecords
from migration.shard.partition_table import PartitionTable, keys_of
from migration.shard.report import ShardReport
from streams.process.garbage import without_garbage_collection
from streams.spark.rows import ChunkKind, ShardChunk
from streams.state.fact_codec import unpack
from streams.state.recovery import NEW_STORE

STATE_FORMAT: Final = 10
_WITH_OBJECTS: Final = 9
"""Its partitions are a list for each topic, not columns; otherwise it is the same."""
_WITHOUT_LOST: Final = 8
"""As `_WITH_OBJECTS`, and `pending` leaves out the replicas whose id is LOST or reserved."""
_REPORT: Final = TypeAdapter(ShardReport)


class UnknownStateFormat(Exception):
    """The state was written by another version of Kraftgate."""


def track(
    cluster: str, shard: int, before: bytes | None, packed: Sequence[bytes], transitions: Path
) -> tuple[bytes, bytes]:
    """Apply a batch's chunks, in order; return the new state and the report, packed.

    Transitions are written to Parquet below `transitions`.

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
            # The driver, which only unpacks reports, does not import pyarrow.
            from streams.spark.transition_files import write_transitions

            until = max(
                (chunk.log, chunk.until) for chunk in chunks if chunk.kind is not ChunkKind.SEEN
            )
            ids = state.numbers.ids()
            file = write_transitions(transitions, cluster, shard, until, table, batch.topics, ids)
            path = str(file.relative_to(transitions))
        rows = 0 if table is None else len(table)
        return pack_shard(state, held), pack_report(report, path, rows)


def take(batch: ShardBatch, held: list[ShardChunk], chunks: list[ShardChunk]) -> list[ShardChunk]:
    """Apply chunks in order; return those that wait for their transaction's end.

    Raises:
        WireError: a record cannot be decoded.
    """
    waiting = list(held)
    snapshot: list[ShardChunk] = []
    for chunk in chunks:
        if chunk.kind is ChunkKind.COMMITTED:
            batch.apply(*chunk.decoded(), chunk.until)
        elif chunk.kind is ChunkKind.HELD:
            waiting.append(chunk)
        elif chunk.kind is ChunkKind.RELEASE:
            for each in waiting:
                # They take effect at the transaction's end, with all earlier records.
                batch.apply(*each.decoded(), chunk.until)
            waiting = []
        elif chunk.kind is ChunkKind.DROP:
            waiting = []
        elif chunk.kind is ChunkKind.RESTART:
            waiting = []
            batch.restart(chunk.timestamp_ms)
        elif chunk.kind is ChunkKind.SNAPSHOT:
            snapshot.append(chunk)
    if snapshot:
        waiting = []
        parts, others = zip(*(each.decoded() for each in snapshot), strict=True)
        batch.replace(
            snapshot[0].until - 1,
            snapshot[0].timestamp_ms,
            PartitionRecords.joined(parts),
            chain.from_iterable(others),
        )
    return waiting


def pack_shard(shard: Shard, held: list[ShardChunk]) -> bytes:
    """Return a shard as bytes, with the chunks that wait for their transaction's end."""
    topics = [(topic_id, *topic) for topic_id, topic in shard.topics.items()]
    registered = [(broker, sorted(each)) for broker, each in shard.registered.items()]
    compared = [
        (
            sorted(each.found.items()),
            sorted(each.lasting),
            each.whole_ms,
            each.compared,
            sorted(each.unread.items()),
            each.closed,
        )
        for each in (shard.compared.zookeeper, shard.compared.disks)
    ]
    packed = (
        STATE_FORMAT,
        shard.numbers.ids(),
        topics,
        shard.next_topic,
        _pack_table(shard.partitions),
        registered,
        shard.pending,
        held,
        compared,
        list(shard.configs.items()),
        shard.names,
    )
    return cast(bytes, msgpack.packb(packed))


def unpack_shard(packed: bytes) -> tuple[Shard, list[ShardChunk]]:
    """Return the value that `pack_shard` packed.

    Raises:
        UnknownStateFormat: the checkpoint is another version's.
    """
    content: Any = msgpack.unpackb(packed, use_list=False, strict_map_key=False)
    written, ids, topics, *rest = content
    if written == STATE_FORMAT:
        next_topic, columns, *rest = rest
        partitions = _unpack_table(columns)
    elif written in (_WITH_OBJECTS, _WITHOUT_LOST):
        next_topic, partitions = len(topics), _table_of(topics)
        topics = [(topic_id, name, at) for at, (topic_id, name, *_) in enumerate(topics)]
    else:
        raise _unknown(written, "")
    registered, pending, held, compared, configs, names = rest
    shard = Shard(
        numbers=Numbers(ids),
        topics={topic_id: ShardTopic(name, number) for topic_id, name, number in topics},
        next_topic=next_topic,
        partitions=partitions,
        registered={broker: frozenset(each) for broker, each in registered},
        pending=pending,
        configs={tuple(of): settings for of, settings in configs},
        names=names,
        compared=Comparisons(*(_last(*each) for each in compared)),
    )
    if written == _WITHOUT_LOST and _has_uncounted(shard):
        raise _unknown(written, " with replicas whose directory is lost or reserved")
    return shard, [ShardChunk(ChunkKind(kind), *rest) for kind, *rest in held]


def _pack_table(table: PartitionTable) -> tuple[object, ...]:
    lists = (table.brokers, table.directories, table.isr)
    return (
        _pack_column(table.keys),
        _pack_column(table.leaders),
        _pack_column(table.moving),
        [(_pack_column(each.flat()), _pack_column(each.lengths)) for each in lists],
    )


def _unpack_table(packed: Any) -> PartitionTable:  # noqa: ANN401  # as msgpack gives it
    *columns, lists = packed
    keys, leaders, moving = map(_unpack_column, columns)
    brokers, directories, isr = (
        Lists.in_line(_unpack_column(flat), _unpack_column(lengths)) for flat, lengths in lists
    )
    return PartitionTable(keys, leaders, moving, brokers, directories, isr)


def _pack_column(column: Integers) -> tuple[str, bytes]:
    """Return the column in the smallest type that has all its values."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    small = np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high))
    return small.str, column.astype(small).tobytes()


def _unpack_column(packed: tuple[str, bytes]) -> Integers:
    kind, content = packed
    return np.frombuffer(content, dtype=kind).astype(np.int64)


def _table_of(topics: Any) -> PartitionTable:  # noqa: ANN401  # as msgpack gives it
    """Return the partitions of a state of a release without columns."""
    partitions = {
        int(keys_of(integers([topic]), integers([partition]))[0]): Replicas(*replicas)
        for topic, (_, _, numbers, rows) in enumerate(topics)
        for partition, replicas in zip(numbers, rows, strict=True)
    }
    return PartitionTable.of(partitions)


def _unknown(found: int, what: str) -> UnknownStateFormat:
    return UnknownStateFormat(
        f"the checkpoint has state format {found}{what}, but this Kraftgate reads "
        f"{STATE_FORMAT}: finish with the version that began, or {NEW_STORE}"
    )


def _has_uncounted(shard: Shard) -> bool:
    """Return whether the format without LOST counted too few pending replicas of a shard."""
    uncounted = [*shard.numbers.reserved, LOST_NUMBER]
    return bool(np.isin(shard.partitions.directories.flat(), uncounted).any())


def _last(
    found: Any,  # noqa: ANN401  # as msgpack gives it
    lasting: Any,  # noqa: ANN401
    whole_ms: int | None,
    compared: int,
    unread: Any,  # noqa: ANN401
    closed: tuple[str, ...],
) -> Last:
    return Last(
        found={Difference(*each): since for each, since in found},
        lasting=frozenset(starmap(Difference, lasting)),
        whole_ms=whole_ms,
        compared=compared,
        unread=dict(unread),
        closed=closed,
    )


def pack_report(report: ShardReport, path: str | None, rows: int) -> bytes:
    """Return a report as bytes, with the file of its transitions if there is one."""
    return cast(bytes, msgpack.packb((_REPORT.dump_python(report), path, rows)))


def unpack_report(packed: bytes) -> tuple[ShardReport, str | None, int]:
    report, path, rows = msgpack.unpackb(packed, use_list=False, strict_map_key=False)
    return _REPORT.validate_python(report), path, rows
