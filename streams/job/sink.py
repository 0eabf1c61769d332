"""Each micro-batch's end on the driver: shard reports and cluster records make the next image.

What is collected here grows with brokers, directories and topics, not with replicas. A batch that
is in the store already (Spark repeats one whose commit it did not finish) changes nothing there,
but is still evaluated, since the shards' state depends on it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row

from migration.advance import Batch, advance
from migration.image import ClusterImage, Provenance, summarize
from migration.shard import ShardReport
from migration.summary import ClusterSummary
from streams.job.packing import unpack_report
from streams.source.chunks import ClusterChunk
from streams.source.shards import CLUSTER
from streams.store.store import Outcome, Store, StoreError, TransitionFile


@dataclass(slots=True)
class _Collected:
    """One cluster's rows of a batch."""

    chunks: list[tuple[int, ClusterChunk]] = field(default_factory=list)
    reports: dict[int, ShardReport] = field(default_factory=dict)
    files: list[TransitionFile] = field(default_factory=list)

    def batch(self) -> Batch:
        """As the image takes it."""
        chunks = [chunk for _, chunk in sorted(self.chunks, key=lambda each: each[0])]
        last = chunks[-1]
        return Batch(
            start=chunks[0].start,
            end=Provenance(
                offset=last.end_offset, epoch=last.end_epoch, timestamp_ms=last.timestamp_ms
            ),
            records=[each for chunk in chunks for each in chunk.stamped()],
            reports=self.reports,
            snapshot=last.snapshot,
        )


class StoreSink:
    """Writes batches to a store; the function for `foreachBatch`."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._images: dict[str, tuple[ClusterImage, ClusterSummary]] = {}

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Evaluate the batch, and write it unless it is written.

        Raises:
            StoreError: the store is of another history than the checkpoint, or cannot be written.
        """
        collected = _collect(frame.collect())
        applied = self._store.applied(batch_id)
        if applied:
            _check_same(batch_id, applied, collected)
            return
        outcomes = [self._outcome(cluster, each) for cluster, each in sorted(collected.items())]
        self._store.commit(batch_id, outcomes, self._clock())
        for outcome in outcomes:
            self._images[outcome.cluster] = (outcome.image, outcome.summary)

    def _outcome(self, cluster: str, collected: _Collected) -> Outcome:
        known = self._images.get(cluster)
        image = known[0] if known else self._store.image(cluster)
        before = known[1] if known else summarize(cluster, image)
        after_image, events = advance(image, collected.batch())
        after = summarize(cluster, after_image)
        was = {each.id: each for each in before.brokers}
        return Outcome(
            cluster=cluster,
            image=after_image,
            summary=after,
            brokers=[each for each in after.brokers if was.get(each.id) != each],
            gone=sorted(was.keys() - after_image.brokers.keys()),
            events=events,
            files=collected.files,
        )


def _collect(rows: Iterable[Row]) -> Mapping[str, _Collected]:
    by_cluster: dict[str, _Collected] = {}
    for row in rows:
        collected = by_cluster.setdefault(row.cluster, _Collected())
        if row.shard == CLUSTER:
            chunk = ClusterChunk.unpack(bytes(row.payload))
            collected.chunks.append((row.ordinal, chunk))
        else:
            report, path, count = unpack_report(bytes(row.payload))
            collected.reports[row.shard] = report
            if path is not None:
                collected.files.append(TransitionFile(path=path, rows=count))
    return by_cluster


def _check_same(
    batch_id: int, applied: Mapping[str, int], collected: Mapping[str, _Collected]
) -> None:
    repeated = {cluster: each.batch().end.offset for cluster, each in collected.items()}
    if repeated != applied:
        raise StoreError(
            f"batch {batch_id} ended at metadata offsets {dict(applied)} when it was written and "
            f"now ends at {repeated}: the checkpoint is older than the store; restore both "
            "from one moment, or remove the state directory to start afresh"
        )
