"""The job without Spark: the same functions in the same order, for properties over many small logs.

What Spark adds (processes, state store, checkpoints) is tested with Spark; what is asked here is
whether the result depends on where a log is cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from migration.image.advance import Batch, advance
from migration.image.cluster import ClusterImage, Provenance, summarize
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from migration.shard.apply import Shard, ShardBatch
from migration.shard.placement import CLUSTER
from migration.shard.report import ShardReport
from migration.shard.transitions import ABSENT, STATES
from streams.metadata.index import LogIndex
from streams.metadata.offsets import START, StreamOffset, beginning
from streams.metadata.plan import Planner, Slice, restart
from streams.spark.rows import ClusterChunk, ShardChunk, rows
from streams.spark.shard_batch import pack_report, pack_shard, take, unpack_report, unpack_shard
from streams.state.store import pack_image, unpack_image


@dataclass
class Run:
    """One pipeline and what it has come to."""

    image: bytes = field(default_factory=lambda: pack_image(ClusterImage()))
    states: dict[int, bytes] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    transitions: list[tuple[object, ...]] = field(default_factory=list)
    at: StreamOffset = START

    @property
    def summary(self) -> ClusterSummary:
        return summarize("test", unpack_image(self.image))

    def follow(self, path: Path, max_bytes: int, until: int | None = None) -> "Run":
        """Everything in the files from where it stands, in batches of at most so many bytes."""
        index = LogIndex(path, self.at)
        index.refresh()
        assert index.damage is None
        planner = Planner(index, finite=True, until=until)
        while (end := planner.latest(self.at, max_bytes)) != self.at:
            self._batch(planner.slices(self.at, end), end)
            index.forget(self.at.offset)
        return self

    def restart(self, path: Path, began_ms: int = 0) -> "Run":
        """The step to the next log; `path`: of any file."""
        end = beginning(self.at.log + 1)
        self._batch([restart(path, self.at, end, began_ms)], end)
        return self

    def _batch(self, parts: Sequence[Slice], end: StreamOffset) -> None:
        by_shard: dict[int, list[bytes]] = {}
        for part in parts:
            for _, shard, _, chunk in sorted(rows("test", part), key=lambda row: row[2]):
                by_shard.setdefault(shard, []).append(chunk)
        about_cluster = [ClusterChunk.unpack(each) for each in by_shard.pop(CLUSTER)]
        reports = {shard: self._shard(shard, chunks) for shard, chunks in by_shard.items()}
        last = about_cluster[-1]
        batch = Batch(
            log=last.log,
            start=about_cluster[0].start,
            end=Provenance(
                offset=last.end_offset, epoch=last.end_epoch, timestamp_ms=last.timestamp_ms
            ),
            records=[each for chunk in about_cluster for each in chunk.stamped()],
            reports=reports,
            snapshot=last.snapshot,
        )
        image, events = advance(unpack_image(self.image), batch)
        self.image = pack_image(image)
        self.events.extend(events)
        self.at = end

    def _shard(self, shard: int, chunks: Sequence[bytes]) -> ShardReport:
        packed = self.states.get(shard)
        state, held = (Shard(), []) if packed is None else unpack_shard(packed)
        batch = ShardBatch(state)
        held = take(batch, held, [ShardChunk.unpack(each) for each in chunks])
        report = batch.finish()
        self.states[shard] = pack_shard(state, held)
        ids, topics = state.numbers.ids(), batch.topics
        for (
            offset,
            moment,
            topic,
            partition,
            broker,
            was,
            now,
        ) in (
            batch.table if batch.table is not None else np.empty((0, 7), dtype=np.int64)
        ).tolist():
            places = tuple(
                None if each == ABSENT else (ids[each >> 3], STATES[each & 7])
                for each in (was, now)
            )
            self.transitions.append((offset, moment, topics[topic], partition, broker, *places))
        return unpack_report(pack_report(report, None, 0))[0]
