"""The end of each micro-batch on the driver: shard reports and cluster records update the image.

The collected data grows with brokers, directories and topics, not with replicas. A batch that is in
the store already (Spark repeats one whose commit it did not finish) changes nothing there, but is
still evaluated, since the shards' state depends on it.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Final

from pyspark.sql import DataFrame, Row

from migration.image.advance import Batch, BatchOutOfOrder, advance
from migration.image.cluster import ClusterImage, Provenance, summarize
from migration.image.observe import compare, observe
from migration.image.summary import ClusterSummary
from migration.metadata.event_kinds import EventKind
from migration.observed.facts import Observation
from migration.shard.placement import CLUSTER, JMX, LOG_DIRS, SHARDS, ZOOKEEPER
from migration.shard.report import ShardReport
from streams.spark.rows import ClusterChunk
from streams.spark.shard_batch import unpack_report
from streams.state.fact_codec import FactRange, unpack_row
from streams.state.recovery import NEW_STORE
from streams.state.store import BatchResult, Store, StoreError, TransitionFile

RequestPoll = Callable[[str, int | None, str], None]
"""Requests a poll of a broker's disks: cluster, broker (None: all), why."""
_FACTS: Final = {ZOOKEEPER: "zookeeper", LOG_DIRS: "log_dirs", JMX: "jmx"}
_NEEDS_POLL: Final = frozenset(
    {
        EventKind.BROKER_REGISTERED,
        EventKind.BROKER_FENCED,
        EventKind.LOG_DIR_FAILURE_NOTIFIED,
        EventKind.LOG_DIRS_LOST,
        EventKind.NOTIFICATIONS_MISSED,
        EventKind.TOPIC_CREATED,
        EventKind.ZK_BROKER_APPEARED,
        EventKind.ZK_BROKER_GONE,
    }
)


@dataclass(slots=True)
class _Collected:
    """One cluster's rows of a batch; `begins`: the number of the first fact of each source."""

    chunks: list[tuple[int, ClusterChunk]] = field(default_factory=list)
    reports: dict[int, ShardReport] = field(default_factory=dict)
    files: list[TransitionFile] = field(default_factory=list)
    facts: list[tuple[int, FactRange]] = field(default_factory=list)
    begins: dict[str, int] = field(default_factory=dict)

    def place(self) -> dict[str, int]:
        """Return this batch's end position in each source: the same one when it is repeated."""
        ends = {_FACTS[shard]: each.until for shard, each in self.facts}
        if self.chunks:
            ends["kraft_metadata"] = max(chunk.end_offset for _, chunk in self.chunks)
        return ends

    def observations(self) -> list[Observation]:
        """Return the facts of the other sources: each source's in its order, merged by time.

        A clock that is set back does not reorder the facts of a source.
        """
        lanes = [
            zip(accumulate((fact.seen_ms for fact in each.facts), max), each.facts, strict=True)
            for _, each in self.facts
        ]
        return [fact for _, fact in heapq.merge(*lanes, key=itemgetter(0))]

    def batch(self) -> Batch | None:
        """Return the image's input; None: the batch has no records of the metadata log."""
        if not self.chunks:
            return None
        chunks = [chunk for _, chunk in sorted(self.chunks, key=lambda each: each[0])]
        last = chunks[-1]
        return Batch(
            log=last.log,
            start=chunks[0].start,
            end=Provenance(
                offset=last.end_offset, epoch=last.end_epoch, timestamp_ms=last.timestamp_ms
            ),
            records=[each for chunk in chunks for each in chunk.stamped()],
            reports=self.reports,
            snapshot=last.snapshot,
        )


class StoreSink:
    """Writes batches to a store; the function for `foreachBatch`.

    `request_poll`: called when the disks must be polled; None: they are not followed.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        request_poll: RequestPoll | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._request_poll = request_poll
        self._images: dict[str, tuple[ClusterImage, ClusterSummary]] = {}

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Evaluate the batch, and write it unless the store has it.

        Raises:
            StoreError: the store is of another history than the checkpoint, or cannot be written.
        """
        collected = _collect(frame.collect())
        applied = self._store.applied(batch_id)
        if applied:
            _check_same(batch_id, applied, collected)
            return
        results = [self._result(cluster, each) for cluster, each in sorted(collected.items())]
        self._store.commit(batch_id, results, self._clock())
        for result in results:
            self._images[result.cluster] = (result.image, result.summary)
            self._request_polls(result)

    def _request_polls(self, result: BatchResult) -> None:
        """Request polls of the disks after events that require their current state."""
        if self._request_poll is None:
            return
        wanted = {each.broker: each.kind for each in result.events if each.kind in _NEEDS_POLL}
        # None: all brokers; a new topic may be on any, a missed notification may be of any.
        for broker, kind in wanted.items() if None not in wanted else [(None, wanted[None])]:
            self._request_poll(result.cluster, broker, kind)

    def _result(self, cluster: str, collected: _Collected) -> BatchResult:
        known = self._images.get(cluster)
        image = known[0] if known else self._store.image(cluster)
        # An earlier release may have stored another summary of the same image.
        before = known[1] if known else self._store.summary(cluster)
        self._check_follows(cluster, collected)
        batch = collected.batch()
        try:
            after_image, events = (image, ()) if batch is None else advance(image, batch)
        except BatchOutOfOrder as error:
            raise StoreError(f"cluster {cluster}: {error}: {NEW_STORE}") from error
        facts = collected.observations()
        after_image, seen = observe(after_image, facts)
        after_image, compared = compare(after_image, collected.reports, facts, SHARDS)
        after = summarize(cluster, after_image)
        was = {each.id: each for each in before.brokers} if before else {}
        return BatchResult(
            cluster=cluster,
            image=after_image,
            summary=after,
            brokers=[each for each in after.brokers if was.get(each.id) != each],
            gone=sorted(was.keys() - {each.id for each in after.brokers}),
            events=(*events, *seen, *compared),
            place=collected.place(),
            files=collected.files,
        )

    def _check_follows(self, cluster: str, collected: _Collected) -> None:
        """Check that each source continues where the store ends: journals have no gaps."""
        for source, first in collected.begins.items():
            at = self._store.place(cluster, source)
            # 0: not read yet, or an earlier release deleted the last batch of a quiet source.
            if at and first != at + 1:
                raise StoreError(
                    f"cluster {cluster}: the batch starts at number {first} of the journal of"
                    f" {source}, the store ends at {at}: {NEW_STORE}"
                )


def _collect(rows: Iterable[Row]) -> Mapping[str, _Collected]:
    by_cluster: dict[str, _Collected] = {}
    for row in rows:
        collected = by_cluster.setdefault(row.cluster, _Collected())
        if row.shard == CLUSTER:
            chunk = ClusterChunk.unpack(bytes(row.payload))
            collected.chunks.append((row.ordinal, chunk))
        elif row.shard in _FACTS:
            collected.facts.append((row.shard, unpack_row(bytes(row.payload))))
            collected.begins[_FACTS[row.shard]] = row.ordinal
        else:
            report, path, count = unpack_report(bytes(row.payload))
            collected.reports[row.shard] = report
            if path is not None:
                collected.files.append(TransitionFile(path=path, rows=count))
    return by_cluster


def _check_same(
    batch_id: int,
    applied: Mapping[str, Mapping[str, int]],
    collected: Mapping[str, _Collected],
) -> None:
    repeated = {cluster: each.place() for cluster, each in collected.items()}
    if repeated != applied:
        raise StoreError(
            f"batch {batch_id} ended at {dict(applied)} when it was written and "
            f"now ends at {repeated}: the checkpoint is older than the store: {NEW_STORE}"
        )
