"""The configuration of a lab: number and size of its members, overridden server properties."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CONTROLLER_ID_FIRST = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSpec:
    """The configuration of a lab.

    The timing settings of Kafka (session timeouts, idle no-op records) keep their defaults unless
    an override changes them, so that observations here apply to production. `kraftgate lab start`
    limits the numbers; a number that Kafka cannot have shows in the log of its process.

    Attributes:
        brokers: Number of brokers, ids 1 to N.
        directories: Log directories of each broker.
        controllers: Number of controllers, ids from 3000.
        zookeepers: Number of ZooKeeper servers.
        broker_heap_mb: Heap of a broker, MiB.
        controller_heap_mb: Heap of a controller, MiB.
        zookeeper_heap_mb: Heap of a ZooKeeper server, MiB.
        broker_properties: Server properties of every broker in every mode.
        controller_properties: Server properties of every controller.
        release_version: The release with which the controllers are formatted: their first
            metadata.version.
        zookeeper_properties: Settings of every ZooKeeper server.
        zookeeper_chroot: Kafka's path in ZooKeeper, such as ``/kafka``; "": its root.
        jmx: Whether each broker and controller runs jmx_exporter's agent, as operators do.
    """

    brokers: int = 3
    directories: int = 2
    controllers: int = 1
    zookeepers: int = 1
    broker_heap_mb: int = 256
    controller_heap_mb: int = 128
    zookeeper_heap_mb: int = 96
    broker_properties: Mapping[str, str] = field(default_factory=dict)
    controller_properties: Mapping[str, str] = field(default_factory=dict)
    release_version: str = "3.9"
    zookeeper_properties: Mapping[str, str] = field(default_factory=dict)
    zookeeper_chroot: str = ""
    jmx: bool = False

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The brokers' ids: 1 to N."""
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """The controllers' ids: from 3000."""
        return tuple(range(CONTROLLER_ID_FIRST, CONTROLLER_ID_FIRST + self.controllers))
