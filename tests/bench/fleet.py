"""(l) Many clusters in one job: latency of each, and the memory that one more takes.

The first cluster is real, in the hybrid phase. The metadata logs of the others are generated
(`stub_controller`): each begins as a copy of the real one, and then has no-op records and changes
of its own. Each has a cluster id of its own, with a copy of the real cluster's znodes in the same
ZooKeeper, its broker behind a proxy that shows that id, and its JMX exporter. All have four
sources, with connections, journals and a state of their own. The latency is that of (c), for each
change: one after the other, each in the next cluster, and then in all generated clusters at once.
"""

import itertools
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID, uuid4

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from kazoo.client import KazooClient
from kio.static.primitive import i32

from migration.metadata.records import Config, Partition
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
from tests.support.lab_steps import zookeeper_client
from tests.support.renamed_cluster import RenamedCluster, another_id
from tests.support.wire_writing import write_value

CLUSTERS: Final = 50
CLUSTERS_QUICK: Final = 5
RATE: Final = 2
"""Changes a second in all clusters together: that of (c)."""
ROUNDS: Final = 2
"""Changes of each cluster in a run."""
P95_MS: Final = 3_000
_TOPIC: Final = "fleet"
R = TypeVar("R", Partition, Config)
_Change = tuple[str, int, int]
"""The cluster's name, the record's metadata offset, its time (ms)."""


class _Fleet:
    """The clusters, by number; 0 is real."""

    def __init__(self, lab: Lab, clusters: int) -> None:
        self.names = [CLUSTER, *(f"fleet-{number}" for number in range(1, clusters))]
        self.lab = lab
        self._log = controller_log(lab)
        lab.create_topic(_TOPIC)
        ((*_, partition),) = self._new(Partition, 1)
        self._topic_id = UUID(bytes=partition.topic_id)
        self.controllers = StubControllers(self._log.path.read_bytes(), clusters - 1)
        self.ids = [lab.cluster_id, *(another_id() for _ in self.names[1:])]
        self.brokers = [
            RenamedCluster(lab.broker_bootstrap, lab.cluster_id, id_) for id_ in self.ids[1:]
        ]
        self._retention_ms = itertools.count(3_600_000)

    def configuration(self, clusters: int) -> dict[str, object]:
        """Return the configuration of the first so many."""
        sources = four_sources(self.lab)
        generated = [
            {
                **sources,
                "name": name,
                "controllers": {"bootstrap": controller},
                "brokers": {"bootstrap": broker.address},
                "zookeeper": {"connect": f"{self.lab.zookeeper_connect}/{name}"},
            }
            for name, controller, broker in zip(
                self.names[1:], self.controllers.addresses, self.brokers, strict=True
            )
        ]
        return {"clusters": [{**sources, "name": CLUSTER}, *generated][:clusters]}

    @contextmanager
    def znodes(self) -> Iterator[None]:
        """Copy the znodes for each generated cluster; ephemeral ones exist until the exit."""
        with zookeeper_client(self.lab.zookeeper_connect) as client:
            znodes = [(path, *client.get(path)) for path in _below(client, "")]
            real = self.lab.cluster_id.encode()
            for name, id_ in zip(self.names[1:], self.ids[1:], strict=True):
                client.ensure_path(f"/{name}")
                for path, data, stat in znodes:
                    data = data and data.replace(real, id_.encode())
                    client.create(f"/{name}{path}", data, ephemeral=bool(stat.ephemeralOwner))
            yield

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
                self._change_setting()
        real = self._new(Config, ROUNDS)
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

    def _change_setting(self) -> None:
        """Change the real cluster, in a way that its broker and JMX do not show to the others."""
        value = str(next(self._retention_ms))
        entry = ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)
        topic = ConfigResource(ResourceType.TOPIC, _TOPIC, incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": self.lab.broker_bootstrap, "log_level": 3})
        admin.incremental_alter_configs([topic])[topic].result(EFFECT_S_MAX)

    def _new(self, kind: type[R], count: int) -> list[tuple[int, int, R]]:
        """Return the next `count` records of a type in the real log, once they are flushed."""
        found: list[tuple[int, int, R]] = []

        def flushed() -> bool:
            for offset, moment, record in self._log.news():
                if isinstance(record, kind):
                    found.append((offset, moment, record))
            return len(found) >= count

        wait_until("the log's flush", flushed, EFFECT_S_MAX)
        return found


def _below(client: KazooClient, path: str) -> Iterator[str]:
    """Yield the paths of all znodes below one, without ZooKeeper's own; parents first."""
    for name in client.get_children(path or "/"):
        if path or name != "zookeeper":
            yield f"{path}/{name}"
            yield from _below(client, f"{path}/{name}")


def run(home: Path, kraftgate: Path, runs: int, clusters: int) -> list[Figure]:
    """Change clusters `runs` times while all are followed.

    Raises:
        MeasuringFailed: the lab or Kraftgate did not do as it should.
    """
    with ExitStack() as stack:
        fleet = _Fleet(stack.enter_context(in_migration()), clusters)
        stack.enter_context(fleet.controllers)
        for broker in fleet.brokers:
            stack.enter_context(broker)
        stack.enter_context(fleet.znodes())
        with following(fleet.lab, home / "one", kraftgate, fleet.configuration(1)) as follower:
            _measure(follower, fleet.names[:1], [])  # its log is read then
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
