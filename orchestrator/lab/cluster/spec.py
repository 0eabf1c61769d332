"""What a lab shall be: how many of what, how large, and which server properties differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.lab.errors import SpecInvalidError

CONTROLLER_ID_FIRST = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSpec:
    """The shape of a lab.

    The timing settings of Kafka (session timeouts, idle no-op records) keep their defaults unless
    an override changes them, so that what is observed here is what production does.

    Attributes:
        brokers: How many brokers, ids 1 to N.
        directories: Log directories of each broker.
        controllers: How many controllers, ids from 3000.
        zookeepers: How many servers ZooKeeper consists of.
        broker_heap_mb: Heap of a broker, MiB.
        controller_heap_mb: Heap of a controller, MiB.
        zookeeper_heap_mb: Heap of a ZooKeeper server, MiB.
        broker_properties: Server properties that every broker gets in every mode.
        controller_properties: Server properties that every controller gets.
        release_version: What the controllers are formatted with: their first metadata.version.
        zookeeper_properties: Settings that every ZooKeeper server gets.
        zookeeper_chroot: Path under which Kafka lives in ZooKeeper, such as ``/kafka``; or none.
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

    def __post_init__(self) -> None:
        """Refuse a shape that cannot be started.

        Raises:
            SpecInvalidError: A number is out of its range, or the chroot is not an absolute path.
        """
        ranges = (
            ("brokers", self.brokers, 0, 50),
            ("directories", self.directories, 1, 20),
            ("controllers", self.controllers, 1, 7),
            ("zookeepers", self.zookeepers, 1, 7),
            ("broker_heap_mb", self.broker_heap_mb, 64, 65536),
            ("controller_heap_mb", self.controller_heap_mb, 64, 65536),
            ("zookeeper_heap_mb", self.zookeeper_heap_mb, 32, 65536),
        )
        for name, value, low, high in ranges:
            if not low <= value <= high:
                raise SpecInvalidError(
                    f"{name} is {value}",
                    where="LabSpec",
                    mend=f"Give a number from {low} to {high}.",
                )
        chroot = self.zookeeper_chroot
        if chroot and (not chroot.startswith("/") or chroot.endswith("/")):
            raise SpecInvalidError(
                f"the ZooKeeper chroot is {chroot!r}",
                where="LabSpec",
                mend="Give an absolute path without a slash at its end, such as /kafka.",
            )

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The brokers' ids: 1 to N."""
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """The controllers' ids: from 3000."""
        return tuple(range(CONTROLLER_ID_FIRST, CONTROLLER_ID_FIRST + self.controllers))
