"""(l) Many clusters in one job: latency of each, and the memory that one more takes.

All clusters of the configuration are one real cluster in the hybrid phase, under names of their
own: each has four sources with connections, journals and a state of its own. Topics are created one
after the other; the latency is that of (c), for each record and each cluster.
"""

from bisect import bisect_left
from pathlib import Path
from typing import Final

from migration.metadata.records import Partition
from orchestrator.lab import Lab
from tests.bench.latency import EFFECT_S_MAX, quantile
from tests.bench.live import (
    CLUSTER,
    ControllerLog,
    Following,
    controller_log,
    following,
    four_sources,
    in_migration,
    wait_until,
)
from tests.bench.measure import memory_mb, tree
from tests.bench.result import Figure, say

CLUSTERS: Final = 50
CLUSTERS_QUICK: Final = 5
TOPICS: Final = 20
P95_MS: Final = 3_000


def run(home: Path, kraftgate: Path, runs: int, clusters: int) -> list[Figure]:
    """Create topics `runs` times while all clusters are followed.

    Raises:
        MeasuringFailed: the lab or Kraftgate did not do as it should.
    """
    found: list[list[float]] = []
    with in_migration() as lab:
        alone, _ = _followed(lab, home / "one", kraftgate, 0, 1)
        together, found = _followed(lab, home / "all", kraftgate, runs, clusters)
    name = f"{clusters} clusters"
    return [
        Figure(
            part="l",
            name=f"append to effect, {name}, {shown}",
            unit="ms",
            runs=[quantile(each, share) for each in found],
            bound=P95_MS if share == 0.95 else None,
        )
        for shown, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    ] + [
        Figure(part="l", name="PSS of all processes, 1 cluster", unit="MB", runs=[alone]),
        Figure(part="l", name=f"PSS of all processes, {name}", unit="MB", runs=[together]),
        Figure(
            part="l",
            name="PSS of one more cluster",
            unit="MB",
            runs=[(together - alone) / (clusters - 1)],
        ),
    ]


def _followed(
    lab: Lab, home: Path, kraftgate: Path, runs: int, clusters: int
) -> tuple[float, list[list[float]]]:
    """Return the memory, and the latencies of each run in order of size."""
    names = [CLUSTER, *(f"fleet-{number}" for number in range(1, clusters))]
    configured = {"clusters": [{"name": name, **four_sources(lab)} for name in names]}
    log = controller_log(lab)
    found = []
    with following(lab, home, kraftgate, configured) as follower:
        wait_until("every cluster", lambda: _reached(follower, names) >= 0, EFFECT_S_MAX)
        _run(lab, log, follower, names, runs)  # the start of so many clusters is not a latency
        for number in range(runs):
            found.append(_run(lab, log, follower, names, number))
            p95 = quantile(found[-1], 0.95)
            say(f"l: {clusters} clusters, run {number + 1}: p95 {p95}, max {found[-1][-1]} ms")
        return memory_mb(tree(follower.pid))[0], found


def _run(
    lab: Lab, log: ControllerLog, follower: Following, names: list[str], number: int
) -> list[float]:
    log.news()
    for topic in range(TOPICS):
        lab.create_topic(f"fleet-{len(names)}-{number}-{topic}", 1, 1)
    changes: list[tuple[int, int]] = []

    def flushed() -> bool:
        changes.extend(
            (offset, moment)
            for offset, moment, record in log.news()
            if isinstance(record, Partition)
        )
        return len(changes) >= TOPICS

    wait_until("the log's flush", flushed, EFFECT_S_MAX)
    last = changes[-1][0]
    wait_until("the last effect", lambda: _reached(follower, names) >= last, EFFECT_S_MAX)
    latencies = []
    for name in names:
        batches = follower.batches(name)
        offsets = [offset for offset, _ in batches]
        latencies += [
            float(batches[bisect_left(offsets, offset)][1] - moment) for offset, moment in changes
        ]
    return sorted(latencies)


def _reached(follower: Following, names: list[str]) -> int:
    return min(map(follower.reached, names))
