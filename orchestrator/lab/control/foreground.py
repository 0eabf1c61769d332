"""`kraftgate lab start`: starts a lab, prints its addresses, and runs it until interrupted."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from orchestrator.lab.cluster.lab import Lab
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.control.channel import ControlServer
from orchestrator.lab.control.operations import Operations
from orchestrator.lab.machine.home import clear_home, write_config

_WATCH_S = 0.5


def hold(
    spec: LabSpec,
    home: Path,
    say: Callable[[str], None],
    *,
    fresh: bool,
    kraft: bool,
    topics: int,
    partitions: int,
    replication_factor: int,
) -> None:
    """Start a lab and run it until SIGINT or SIGTERM, which is its normal end.

    With `fresh`, an ended lab in that home is removed first; with `kraft`, the cluster is in KRaft
    mode from the start. Its topics are named topic-1 and so on.

    Raises:
        LabError: It could not be started.
        KeyboardInterrupt: It was interrupted before it was ready.
    """
    if fresh:
        clear_home(home)
    old = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Lab(spec, home) as lab:
            _start(lab, say, kraft=kraft)
            for number in range(1, topics + 1):
                lab.create_topic(f"topic-{number}", partitions, replication_factor)
            _write_config(lab, kraft=kraft)
            server = ControlServer(lab.home, Operations(lab).handle)
            try:
                for line in _welcome(lab, kraft=kraft):
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


def _start(lab: Lab, say: Callable[[str], None], *, kraft: bool) -> None:
    if kraft:
        say("starting controllers and brokers in KRaft mode")
        lab.start_kraft()
        return
    say("starting ZooKeeper")
    lab.start_zookeeper()
    for id_ in lab.spec.broker_ids:
        say(f"starting broker {id_}")
        lab.start_broker(id_)


def _write_config(lab: Lab, *, kraft: bool) -> None:
    write_config(
        lab.home,
        cluster_id=lab.cluster_id,
        zookeeper=None if kraft else lab.zookeeper_connect,
        controllers=lab.controller_bootstrap,
        brokers=lab.broker_bootstrap,
        jmx_exporters=lab.jmx_exporters,
    )


def _welcome(lab: Lab, *, kraft: bool) -> Iterator[str]:
    """Yield the addresses and the next commands, one per line."""
    yield f"the lab is ready in {lab.home}"
    if not kraft:
        yield f"  ZooKeeper    {lab.zookeeper_connect}"
    yield f"  brokers      {lab.broker_bootstrap or 'none'}"
    later = "" if kraft else "  (from `kraftgate lab controllers` on)"
    yield f"  controllers  {lab.controller_bootstrap}{later}"
    yield f"  follow it    kraftgate run --config {lab.home}/kraftgate.yaml"
    if not kraft:
        yield f"  migrate it   kraftgate lab migrate --home {lab.home}"
    yield "Ctrl-C stops every process."


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
