"""The nodes of a lab: names, ports, directories, addresses. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import NoSuchIdError
from orchestrator.lab.machine.ports import LOOPBACK, Ports

ZOOKEEPER = "zookeeper"
METADATA_LOG = "__cluster_metadata-0"

K = TypeVar("K")
V = TypeVar("V")


class Mode(Enum):
    """The configuration of a broker, in the order of the migration."""

    ZOOKEEPER = "zookeeper"
    """Metadata from ZooKeeper, without settings of KRaft."""
    MIGRATING = "migrating"
    """Metadata from ZooKeeper, with the migration enabled and the controllers named."""
    KRAFT = "kraft"
    """Metadata from the controllers, without settings of ZooKeeper."""


@dataclass(slots=True)
class Node:
    """One process of the lab.

    Attributes:
        name: ``zookeeper`` (``zookeeper-1`` of several), ``broker-1``, ``controller-3000``.
        id: Its Kafka node id; 0 for ZooKeeper.
        port: Its port on loopback.
        directories: Its log directories; ZooKeeper's one data directory.
        jmx_port: The port of its JMX numbers; None: it has no agent.
        peer_ports: The ports for the other ZooKeeper servers, to follow and to elect a leader.
    """

    name: str
    id: int
    port: int
    directories: tuple[Path, ...]
    jmx_port: int | None = None
    peer_ports: tuple[int, int] | None = None

    @property
    def address(self) -> str:
        """Host and port, in the form that clients use."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def metadata_log(self) -> Path:
        """The directory of its copy of the metadata log: in the first log directory."""
        return self.directories[0] / METADATA_LOG


class Layout:
    """Every node of a lab with its directories and its port."""

    def __init__(self, spec: LabSpec, home: Path, ports: Ports) -> None:
        self.spec = spec
        self.home = home
        data = home / "data"

        def jmx_port() -> int | None:
            return ports.take() if spec.jmx else None

        names = {1: ZOOKEEPER}
        if spec.zookeepers > 1:
            names = {number: f"{ZOOKEEPER}-{number}" for number in range(1, spec.zookeepers + 1)}
        self.zookeepers = {
            number: Node(
                name,
                0,
                ports.take(),
                (data / name,),
                peer_ports=(ports.take(), ports.take()) if spec.zookeepers > 1 else None,
            )
            for number, name in names.items()
        }
        self.brokers = {
            id_: Node(
                f"broker-{id_}",
                id_,
                ports.take(),
                tuple(data / f"broker-{id_}" / f"d{n}" for n in range(spec.directories)),
                jmx_port(),
            )
            for id_ in spec.broker_ids
        }
        self.controllers = {
            id_: Node(
                f"controller-{id_}",
                id_,
                ports.take(),
                (data / f"controller-{id_}" / "metadata",),
                jmx_port(),
            )
            for id_ in spec.controller_ids
        }

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes: ZooKeeper, controllers, brokers."""
        return (*self.zookeepers.values(), *self.controllers.values(), *self.brokers.values())

    def log_file(self, name: str) -> Path:
        """Return the file with the output of the process of this name."""
        return self.home / "logs" / f"{name}.log"

    def config_file(self, name: str, mode: str) -> Path:
        """Return the properties file of this node in this mode."""
        return self.home / "config" / f"{name}.{mode}.properties"

    @property
    def zookeeper_connect(self) -> str:
        """ZooKeeper's connect string: all servers, then the chroot."""
        servers = ",".join(node.address for node in self.zookeepers.values())
        return servers + self.spec.zookeeper_chroot

    @property
    def broker_bootstrap(self) -> str:
        """The brokers' addresses."""
        return ",".join(node.address for node in self.brokers.values())

    @property
    def controller_bootstrap(self) -> str:
        """The controllers' addresses."""
        return ",".join(node.address for node in self.controllers.values())

    @property
    def jmx_exporters(self) -> dict[int, str]:
        """The URL of each node's JMX numbers, by node id; empty without agents."""
        return {
            node.id: f"http://{LOOPBACK}:{node.jmx_port}/metrics"
            for node in self.nodes
            if node.jmx_port is not None
        }

    @property
    def voters(self) -> str:
        """The static quorum, in the form of ``controller.quorum.voters``."""
        return ",".join(f"{node.id}@{node.address}" for node in self.controllers.values())

    def broker(self, id_: int) -> Node:
        """Return the broker with this id.

        Raises:
            NoSuchIdError: The lab has none.
        """
        return _pick(self.brokers, id_, "broker")

    def controller(self, id_: int) -> Node:
        """Return the controller with this id.

        Raises:
            NoSuchIdError: The lab has none.
        """
        return _pick(self.controllers, id_, "controller")

    def named(self, name: str) -> Node:
        """Return the node with this name.

        Raises:
            NoSuchIdError: The lab has none.
        """
        return _pick({node.name: node for node in self.nodes}, name, "process")

    def directory(self, broker: int, index: int) -> Path:
        """Return a broker's log directory by its index, from 0.

        Raises:
            NoSuchIdError: The broker, or its directory with this index, does not exist.
        """
        return _pick(dict(enumerate(self.broker(broker).directories)), index, "log directory")


def _pick(known: dict[K, V], key: K, kind: str) -> V:
    if key not in known:
        raise NoSuchIdError(
            f"the lab has no {kind} {key}", where="lab", fix=f"It has: {_listed(known)}."
        )
    return known[key]


def _listed(names: Iterable[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"
