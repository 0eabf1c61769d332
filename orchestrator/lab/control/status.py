"""The state of a lab at one moment, for `kraftgate lab status`."""

from dataclasses import dataclass

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.errors import WrongStateError


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process.

    Attributes:
        name: Its name.
        state: ``running``, ``frozen``, ``ended``, or ``not started``.
        mode: Its last configuration; None for ZooKeeper and for processes that never ran.
        pid: The process id while it runs.
        address: Its host and port.
        failed_directories: The indexes of its directories that the lab failed.
    """

    name: str
    state: str
    mode: str | None
    pid: int | None
    address: str
    failed_directories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LabStatus:
    """The whole lab.

    Attributes:
        home: Its home directory.
        cluster_id: The cluster's id, None before the first broker.
        zookeeper: ZooKeeper's connect string, None without ZooKeeper.
        brokers: The brokers' addresses.
        controllers: The controllers' addresses.
        active_controller: The id of the KRaft controller that leads, None without.
        copied_offset: The metadata offset in /migration, None while nothing was copied.
        processes: ZooKeeper, controllers, brokers.
    """

    home: str
    cluster_id: str | None
    zookeeper: str | None
    brokers: str
    controllers: str
    active_controller: int | None
    copied_offset: int | None
    processes: tuple[ProcessStatus, ...]


def status(lab: Lab) -> LabStatus:
    """Return the state of a lab.

    Raises:
        RequestRefusedError: ZooKeeper does not answer; it may be frozen.
    """
    found = lab.quorum()
    has_zookeeper = any(lab.was_started(name) for name in lab.zookeeper_names)
    offset = lab.zookeeper.copied_offset() if lab.zookeeper_answers else -1
    return LabStatus(
        home=str(lab.home),
        cluster_id=_cluster_id(lab),
        zookeeper=lab.zookeeper_connect if has_zookeeper else None,
        brokers=lab.broker_bootstrap,
        controllers=lab.controller_bootstrap,
        active_controller=found.leader if found else None,
        copied_offset=offset if offset > 0 else None,
        processes=tuple(_process(lab, name) for name in lab.names),
    )


def _cluster_id(lab: Lab) -> str | None:
    try:
        return lab.cluster_id
    except WrongStateError:
        return None  # no broker has given the cluster an id yet


def _process(lab: Lab, name: str) -> ProcessStatus:
    mode = lab.mode(name)
    alive = lab.is_alive(name)
    return ProcessStatus(
        name=name,
        state=_state(lab, name),
        mode=mode.value if mode else None,
        pid=lab.pid(name) if alive else None,
        address=lab.address(name),
        failed_directories=lab.failed_directories(name),
    )


def _state(lab: Lab, name: str) -> str:
    if not lab.was_started(name):
        return "not started"
    if not lab.is_alive(name):
        return "ended"
    return "frozen" if lab.is_frozen(name) else "running"
