"""(l) Many clusters in one job: latency of each, and the memory that one more takes.

The first cluster is real, in the hybrid phase. The metadata logs of the others are generated
(`stub_controller`): each begins as a copy of the real one, and then has no-op records and changes
of its own. Their ZooKeeper, broker and JMX exporter are the real cluster's, but each has four
sources with connections, journals and a state of its own. The latency is that of (c), for each
change: one after the other, each in the next cluster, and then in all generated clusters at once.
"""

import time
from bisect import bisect_left
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from kio.static.primitive import i32

from migration.metadata.records import Partition
from orchestrator.lab import Lab
from streams.wire.schema import PartitionChangeRecordV1
from tests.bench.latency import EFFECT_S_MAX, quantile
from tests.bench.live import (
    CLUSTER,
    Following,
    controller_log,
    following,
    four_sources,
    in_migration,
    wait_until,
)
from tests.bench.measure import memory_mb, tree
from tests.bench.result import Figure, say
from tests.bench.stub_controller import StubControllers
from tests.support.wire_writing import write_value

CLUSTERS: Final = 50
CLUSTERS_QUICK: Final = 5
RATE: Final = 2
"""Changes a second in all clusters together: that of (c)."""
ROUNDS: Final = 2
"""Changes of each cluster in a run."""
P95_MS: Final = 3_000
_Change = tuple[str, int, int]
"""The cluster's name, the record's metadata offset, its time (ms)."""


class _Fleet:
    """The clusters, by number; 0 is real."""

    def __init__(self, lab: Lab, clusters: int) -> None:
        self.names = [CLUSTER, *(f"fleet-{number}" for number in range(1, clusters))]
        self.lab = lab
        self._log = controller_log(lab)
        self._topics = 0
        self._create_topic()
        partition, *_ = self._new_partitions(1)
        self._topic_id = UUID(bytes=partition[2].topic_id)
        self.controllers = StubControllers(self._log.path.read_bytes(), clusters - 1)

    def configuration(self, clusters: int) -> dict[str, object]:
        """Return the configuration of the first so many."""
        sources = four_sources(self.lab)
        logs = [self.lab.controller_bootstrap, *self.controllers.addresses]
        each = [{**sources, "controllers": {"bootstrap": log}} for log in logs[:clusters]]
        return {
            "clusters": [{"name": name, **one} for name, one in zip(self.names, each, strict=False)]
        }

    def one_after_the_other(self) -> list[_Change]:
        """Change the clusters in turn, at the rate."""
        changes: list[_Change] = []
        began = time.monotonic()
        for turn in range(ROUNDS * len(self.names)):
            time.sleep(max(0.0, began + turn / RATE - time.monotonic()))
            number = turn % len(self.names)
            if number:
                changes.append(self._generate(number))
            else:
                self._create_topic()
        real = self._new_partitions(ROUNDS)
        return changes + [(CLUSTER, offset, moment) for offset, moment, _ in real]

    def at_once(self) -> list[_Change]:
        """Change all generated clusters at one moment."""
        return [self._generate(number) for number in range(1, len(self.names))]

    def _generate(self, number: int) -> _Change:
        """Assign the replica of a partition to another directory."""
        change = PartitionChangeRecordV1(
            partition_id=i32(0), topic_id=self._topic_id, directories=(uuid4(),)
        )
        return self.names[number], *self.controllers.append(number - 1, write_value(change))

    def _create_topic(self) -> None:
        self.lab.create_topic(f"fleet-{self._topics}")
        self._topics += 1

    def _new_partitions(self, count: int) -> list[tuple[int, int, Partition]]:
        """Return the next `count` partitions of the real log, once it is flushed."""
        found: list[tuple[int, int, Partition]] = []

        def flushed() -> bool:
            for offset, moment, record in self._log.news():
                if isinstance(record, Partition):
                    found.append((offset, moment, record))
            return len(found) >= count

        wait_until("the log's flush", flushed, EFFECT_S_MAX)
        return found


def run(home: Path, kraftgate: Path, runs: int, clusters: int) -> list[Figure]:
    """Change clusters `runs` times while all are followed.

    Raises:
        MeasuringFailed: the lab or Kraftgate did not do as it should.
    """
    with ExitStack() as stack:
        fleet = _Fleet(stack.enter_context(in_migration()), clusters)
        stack.enter_context(fleet.controllers)
        with following(fleet.lab, home / "one", kraftgate, fleet.configuration(1)) as follower:
            _measure(follower, fleet.names[:1], [])  # until it is idle
            alone = memory_mb(tree(follower.pid))[0]
        with following(
            fleet.lab, home / "all", kraftgate, fleet.configuration(clusters)
        ) as follower:
            _measure(follower, fleet.names, fleet.at_once())  # the start is not a latency
            spread, together = [], []
            for number in range(1, runs + 1):
                spread.append(_measure(follower, fleet.names, fleet.one_after_the_other()))
                together.append(_measure(follower, fleet.names, fleet.at_once()))
                p95 = [quantile(found[-1], 0.95) for found in (spread, together)]
                say(f"l: {clusters} clusters, run {number}: p95 {p95[0]}, all at once {p95[1]} ms")
            memory = memory_mb(tree(follower.pid))[0]
    name = f"{clusters} clusters"
    return [
        *_latencies(f"append to effect, {name}, {RATE} changes/s", spread, P95_MS),
        *_latencies(f"append to effect, {name}, all changed at once", together, None),
        Figure(part="l", name="PSS of all processes, 1 cluster", unit="MB", runs=[alone]),
        Figure(part="l", name=f"PSS of all processes, {name}", unit="MB", runs=[memory]),
        Figure(
            part="l",
            name="PSS of one more cluster",
            unit="MB",
            runs=[(memory - alone) / (clusters - 1)],
        ),
    ]


def _latencies(name: str, runs: list[list[float]], p95_ms: float | None) -> list[Figure]:
    return [
        Figure(
            part="l",
            name=f"{name}, {shown}",
            unit="ms",
            runs=[quantile(each, share) for each in runs],
            bound=p95_ms if shown == "p95" else None,
        )
        for shown, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    ]


def _measure(follower: Following, names: list[str], changes: list[_Change]) -> list[float]:
    """Wait until all clusters are followed and the changes have their effect.

    Returns:
        The latencies in order of size, ms.
    """
    last = {name: offset for name, offset, _ in changes}  # of each cluster

    def have_effect() -> bool:
        return all(follower.reached(name) >= last.get(name, 0) for name in names)

    wait_until("the last effect", have_effect, EFFECT_S_MAX)
    latencies = []
    for name, offset, moment in changes:
        batches = follower.batches(name)
        latencies.append(float(batches[bisect_left(batches, (offset, 0))][1] - moment))
    return sorted(latencies)
