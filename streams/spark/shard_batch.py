"""Applies one batch to one shard: packed state and rows in, new state and report out.

State and report are bytes, for Spark's state store and rows. There is one packed value per shard: a
state operation from Python is a round trip to the JVM, so state per replica would cost ten times as
much (measured; see the README's figures). Directory ids are stored once in a table. The first
element of a state is the format's version.
"""

from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgpack
from pydantic import TypeAdapter

from migration.comparison.differences import Comparisons, Difference, Last, ShardComparison
from migration.metadata.partitions import LOST_NUMBER, Numbers, Replicas
from migration.observed.facts import ShardFact
from migration.shard.apply import Shard, ShardBatch, ShardTopic
from migration.shard.report import Crossing, Movement, Note, ReplicationChange, ShardReport, Step
from streams.process.garbage import without_garbage_collection
from streams.spark.rows import ChunkKind, ShardChunk, decoded
from streams.state.fact_codec import unpack

STATE_FORMAT: Final = 9
_WITHOUT_LOST: Final = 8
"""Its `pending` leaves out the replicas whose id is LOST or reserved; else it is the same."""
_COMPARISON: Final = TypeAdapter(ShardComparison)


class UnknownStateFormat(Exception):
    """The state was written by another version of Kraftgate."""


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
            # The driver, which only unpacks reports, does not import pyarrow.
            from streams.spark.transition_files import write_transitions

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


def pack_shard(shard: Shard, held: list[ShardChunk]) -> bytes:
    """Return a shard as bytes, with the chunks that wait for their transaction's end."""
    topics = [
        (topic_id, topic.name, list(topic.partitions), list(topic.partitions.values()))
        for topic_id, topic in shard.topics.items()
    ]
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
    if content[0] not in (STATE_FORMAT, _WITHOUT_LOST):
        raise _unknown(content[0], "")
    written, ids, topics, registered, pending, held, compared, configs, names = content
    shard = Shard(
        numbers=Numbers(ids),
        topics={
            topic_id: ShardTopic(
                name, dict(zip(numbers, starmap(Replicas, partitions), strict=True))
            )
            for topic_id, name, numbers, partitions in topics
        },
        registered={broker: frozenset(each) for broker, each in registered},
        pending=pending,
        configs={tuple(of): settings for of, settings in configs},
        names=names,
        compared=Comparisons(*(_last(*each) for each in compared)),
    )
    if written == _WITHOUT_LOST and _has_uncounted(shard):
        raise _unknown(written, " with replicas whose directory is lost or reserved")
    return shard, [ShardChunk(ChunkKind(kind), *rest) for kind, *rest in held]


def _unknown(found: int, what: str) -> UnknownStateFormat:
    return UnknownStateFormat(
        f"the checkpoint has state format {found}{what}, this Kraftgate reads {STATE_FORMAT}: "
        "finish with the version that began, or remove the state directory to start afresh"
    )


def _has_uncounted(shard: Shard) -> bool:
    """Return whether the format without LOST counted too few pending replicas of a shard."""
    uncounted = shard.numbers.reserved | {LOST_NUMBER}
    return any(
        not uncounted.isdisjoint(replicas.directories)
        for topic in shard.topics.values()
        for replicas in topic.partitions.values()
    )


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
    return cast(
        bytes,
        msgpack.packb(
            (
                report.topics,
                report.partitions,
                [(*key, change) for key, change in report.directories.items()],
                report.assigned_ms,
                [(*key, *movement) for key, movement in report.movements.items()],
                report.crossings,
                report.notes,
                [_COMPARISON.dump_python(each) for each in report.comparisons],
                _replication(report.replication),
                path,
                rows,
            )
        ),
    )


def unpack_report(packed: bytes) -> tuple[ShardReport, str | None, int]:
    """Return the value that `pack_report` packed."""
    content: Any = msgpack.unpackb(packed, use_list=False, strict_map_key=False)
    topics, partitions, directories, assigned, movements, *more = content
    crossings, notes, compared, *rest = more
    (under_replicated, leaderless, reassigning, missing), path, rows = rest
    report = ShardReport(
        topics=topics,
        partitions=partitions,
        directories={(broker, each): change for broker, each, change in directories},
        assigned_ms=assigned,
        movements={
            (barrier, broker): Movement(net, count, first, last, tuple(starmap(Step, recent)))
            for barrier, broker, net, count, first, last, recent in movements
        },
        crossings=[Crossing(*each) for each in crossings],
        notes=[Note(*each) for each in notes],
        comparisons=[_COMPARISON.validate_python(each) for each in compared],
        replication=ReplicationChange(under_replicated, leaderless, reassigning, missing),
    )
    return report, path, rows


def _replication(change: ReplicationChange) -> tuple[object, ...]:
    return change.under_replicated, change.leaderless, change.reassigning, change.missing
