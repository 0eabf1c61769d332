"""The members of a lab: names, ports, directories, addresses. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from migration.assessment.meta_properties import METADATA_LOG
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import NoSuchIdError
from orchestrator.lab.machine.ports import LOOPBACK, Ports

ZOOKEEPER = "zookeeper"

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Member:
    """One member of the cluster, which is one process.

    Attributes:
        name: ``zookeeper`` (``zookeeper-1`` of several), ``broker-1``, ``controller-3000``.
        id: Its Kafka node id; 0 for ZooKeeper.
        directories: Its log directories; ZooKeeper's one data directory.
        jmx_port: None: it has no agent.
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
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def metadata_log(self) -> Path:
        """The directory of its copy of the metadata log: in the first log directory."""
        return self.directories[0] / METADATA_LOG


class Layout:
    """Every member of a lab with its directories and its ports."""

    def __init__(self, spec: LabSpec, home: Path, ports: Ports) -> None:
        self.spec = spec
        self.home = home
        self._ports = ports
        several = spec.zookeepers > 1
        self.zookeepers = {
            number: Member(
                name := f"{ZOOKEEPER}-{number}" if several else ZOOKEEPER,
                0,
                ports.take(),
                (home / "data" / name,),
                peer_ports=(ports.take(), ports.take()) if several else None,
            )
            for number in range(1, spec.zookeepers + 1)
        }
        disks = self._disks(spec.directories)
        self.brokers = {id_: self._kafka(f"broker-{id_}", id_, disks) for id_ in spec.broker_ids}
        self.controllers = {
            id_: self._kafka(f"controller-{id_}", id_, ["metadata"]) for id_ in spec.controller_ids
        }

    def _kafka(self, name: str, id_: int, disks: list[str]) -> Member:
        port, jmx = self._ports.take(), self._ports.take() if self.spec.jmx else None
        return Member(name, id_, port, self._directories(name, disks), jmx)

    def _directories(self, name: str, disks: list[str]) -> tuple[Path, ...]:
        return tuple(self.home / "data" / name / disk for disk in disks)

    @staticmethod
    def _disks(count: int) -> list[str]:
        return [f"d{number}" for number in range(count)]

    @property
    def members(self) -> tuple[Member, ...]:
        """All members: ZooKeeper, controllers, brokers."""
        return (*self.zookeepers.values(), *self.controllers.values(), *self.brokers.values())

    def log_file(self, name: str) -> Path:
        """Return the file with the output of the process, of all its starts in order."""
        return self.home / "logs" / f"{self.named(name).name}.log"

    def config_file(self, name: str, mode: str) -> Path:
        return self.home / "config" / f"{name}.{mode}.properties"

    @property
    def zookeeper_connect(self) -> str:
        """ZooKeeper's connect string: all servers, then the chroot."""
        return _addresses(self.zookeepers) + self.spec.zookeeper_chroot

    @property
    def broker_bootstrap(self) -> str:
        return _addresses(self.brokers)

    @property
    def controller_bootstrap(self) -> str:
        """The controllers' addresses, known before the controllers exist."""
        return _addresses(self.controllers)

    @property
    def jmx_exporters(self) -> dict[int, str]:
        """The URL of each member's JMX numbers, by node id; empty without agents."""
        return {
            member.id: f"http://{LOOPBACK}:{member.jmx_port}/metrics"
            for member in self.members
            if member.jmx_port is not None
        }

    @property
    def voters(self) -> str:
        """The static quorum, in the form of ``controller.quorum.voters``."""
        return ",".join(f"{member.id}@{member.address}" for member in self.controllers.values())

    def broker(self, id_: int) -> Member:
        """Return the broker with this id, or raise NoSuchIdError."""
        return _pick(self.brokers, id_, "broker")

    def controller(self, id_: int) -> Member:
        """Return the controller with this id, or raise NoSuchIdError."""
        return _pick(self.controllers, id_, "controller")

    def named(self, name: str) -> Member:
        """Return the member with this name, or raise NoSuchIdError."""
        return _pick({member.name: member for member in self.members}, name, "process")

    def directory(self, broker: int, index: int) -> Path:
        """Return a broker's log directory by its index, from 0, or raise NoSuchIdError."""
        return _pick(dict(enumerate(self.broker(broker).directories)), index, "log directory")


def _addresses(members: Mapping[int, Member]) -> str:
    return ",".join(member.address for member in members.values())


def _pick(known: Mapping[K, V], key: K, kind: str) -> V:
    if key not in known:
        listed = ", ".join(map(str, known)) or "none"
        raise NoSuchIdError(f"the lab has no {kind} {key}", where="lab", fix=f"It has: {listed}.")
    return known[key]
