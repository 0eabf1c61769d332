"""`kraftgate lab start`: starts a lab, prints its addresses, and runs it until interrupted."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.control.channel import ControlServer
from orchestrator.lab.control.operations import Operations
from orchestrator.lab.machine.home import clear_home, write_config

_WATCH_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The arguments of `lab start`.

    Attributes:
        spec: The lab's configuration.
        home: Its home directory.
        fresh: Whether an ended lab in that home is removed first.
        kraft: Whether the cluster is in KRaft mode from the start.
        topics: Number of topics to create, named topic-1 and so on.
        partitions: Partitions of each.
        replication_factor: Replicas of each partition.
    """

    spec: LabSpec
    home: Path
    fresh: bool
    kraft: bool
    topics: int
    partitions: int
    replication_factor: int


def hold(start: Start, say: Callable[[str], None]) -> None:
    """Start the lab and run it until SIGINT or SIGTERM, which is its normal end.

    Raises:
        LabError: It could not be started.
        KeyboardInterrupt: It was interrupted before it was ready.
    """
    if start.fresh:
        clear_home(start.home)
    old = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Lab(start.spec, start.home) as lab:
            _bring_up(lab, start, say)
            server = ControlServer(lab.home, Operations(lab).handle)
            try:
                for line in _welcome(lab, start):
                    say(line)
                _watch(lab, say)
            except KeyboardInterrupt:
                say("stopping the lab")
            finally:
                lab.end_waits()
                server.close()
    finally:
        signal.signal(signal.SIGTERM, old)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _bring_up(lab: Lab, start: Start, say: Callable[[str], None]) -> None:
    if start.kraft:
        say("starting controllers and brokers in KRaft mode")
        lab.start_kraft()
    else:
        say("starting ZooKeeper")
        lab.start_zookeeper()
        for id_ in start.spec.broker_ids:
            say(f"starting broker {id_}")
            lab.start_broker(id_)
    for number in range(1, start.topics + 1):
        lab.create_topic(f"topic-{number}", start.partitions, start.replication_factor)
    write_config(
        lab.home,
        cluster_id=lab.cluster_id,
        zookeeper=None if start.kraft else lab.zookeeper_connect,
        controllers=lab.controller_bootstrap,
        brokers=lab.broker_bootstrap,
        jmx_exporters=lab.jmx_exporters,
    )


def _welcome(lab: Lab, start: Start) -> list[str]:
    """Return the next steps for the user, one per line."""
    lines = [f"the lab is ready in {lab.home}"]
    if not start.kraft:
        lines.append(f"  ZooKeeper    {lab.zookeeper_connect}")
    lines += [
        f"  brokers      {lab.broker_bootstrap or 'none'}",
        f"  controllers  {lab.controller_bootstrap}"
        + ("" if start.kraft else "  (from `kraftgate lab controllers` on)"),
        f"  follow it    kraftgate run --config {lab.home}/kraftgate.yaml",
    ]
    if not start.kraft:
        lines.append(f"  migrate it   kraftgate lab migrate --home {lab.home}")
    return [*lines, "Ctrl-C stops it all."]


def _watch(lab: Lab, say: Callable[[str], None]) -> None:
    """Print each process that ends or starts again, until interrupted."""
    alive = {name: lab.is_alive(name) for name in lab.names}
    while True:
        time.sleep(_WATCH_S)
        for name, was in alive.items():
            alive[name] = lab.is_alive(name)
            if alive[name] != was:
                said = "runs" if alive[name] else f"ended; its log: {lab.log_file(name)}"
                say(f"{name} {said}")
