"""The migrations of (g): one real broker with many replicas, to KRaft mode and back."""

import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from migration.metadata.records import BrokerRegistrationChange, PartitionChange, RegisterBroker
from orchestrator.lab import Lab, LabError, LabSpec
from tests.bench.live import ControllerLog, controller_log, wait_until
from tests.bench.measure import MeasuringFailed
from tests.bench.result import say

BROKER: Final = 1
AS_IT_IS: Final = "as Kafka does it"
STALLING: Final = "controller that stalls"
_TOPIC_PARTITIONS: Final = 500
_SEED: Final = 858
_STANDS_S: Final = 1.5
_STANDS_S_MAX: Final = 5.0
"""Well below the session timeout of 9 s: the broker stays registered."""
_RUNS_S: Final = 0.04
"""About as long as it takes the controller to answer one of the broker's requests."""
_COPY_S_MAX: Final = 600.0
_STOP_S_MAX: Final = 300.0
_ASSIGNED_S_MAX: Final = 900.0
_SPEC: Final = LabSpec(
    brokers=1,
    directories=2,
    controllers=1,
    broker_heap_mb=1024,
    controller_heap_mb=384,
    zookeeper_heap_mb=256,
    # A broker that is alone has nobody to hand its leaderships to.
    broker_properties={"controlled.shutdown.enable": "false"},
)


@dataclass(frozen=True, slots=True)
class Round:
    """One migration of the broker.

    Attributes:
        kind: AS_IT_IS or STALLING.
        log: a copy of the controller's metadata log.
        held_s: from its registration in KRaft mode to its last assignment.
        assigning_s: from its first assignment to the last.
    """

    kind: str
    log: Path
    held_s: float
    assigning_s: float


def rounds(home: Path, runs: int, replicas: int) -> Iterator[Round]:
    """Migrate, `runs` times of each kind, and go back in between.

    Raises:
        MeasuringFailed: the broker's replicas were not all assigned in time.
        LabError: a step failed.
    """
    with Lab(_SPEC) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        for number in range(-(-replicas // _TOPIC_PARTITIONS)):
            lab.create_topic(f"topic-{number}", _TOPIC_PARTITIONS, 1)
        say(f"g: {replicas} replicas on broker {BROKER}")
        for number, kind in enumerate([AS_IT_IS, STALLING] * runs):
            if number:
                _go_back(lab)
            yield _round(lab, kind, number, replicas, home / f"round-{number}")


def _go_back(lab: Lab) -> None:
    """As `Lab.roll_back`, without asking for every ISR: nobody is there to be in sync with."""
    _stop(lab)
    lab.revert_to_migration(BROKER)
    lab.deprovision_controllers()
    lab.clear_znodes()
    _stop(lab)
    lab.revert_to_zookeeper(BROKER)


def _stop(lab: Lab) -> None:
    """Stop the broker: it first ends what it is about, which may be thousands of logs."""
    lab.stop(BROKER, timeout_s=_STOP_S_MAX)


def _round(lab: Lab, kind: str, number: int, replicas: int, copy: Path) -> Round:
    lab.start_controllers()
    _stop(lab)
    lab.enter_migration(BROKER)
    lab.wait_copied(timeout_s=_COPY_S_MAX)
    watch = _Watch(controller_log(lab))
    watch.look()
    controller = f"controller-{lab.active_controller()}"
    _stop(lab)
    # Earlier, it could assign its replicas in the name of its old registration, and not be held.
    wait_until("the end of its session", watch.is_fenced, _ASSIGNED_S_MAX)
    lab.move_to_kraft(BROKER, wait=False)
    wait_until("the registration", watch.is_registered, _ASSIGNED_S_MAX)
    if kind == STALLING:
        wait_until("the first assignment", lambda: watch.count() > 0, _ASSIGNED_S_MAX)
        with _stalling(lab, controller, random.Random(_SEED + number)):  # noqa: S311  # a plot
            wait_until("the last assignment", lambda: watch.count() >= replicas, _ASSIGNED_S_MAX)
    else:
        wait_until("the last assignment", lambda: watch.count() >= replicas, _ASSIGNED_S_MAX)
    lab.freeze(controller)  # so that the copy ends with a whole batch
    shutil.copytree(lab.metadata_log_dir(controller), copy)
    lab.thaw(controller)
    first_ms, last_ms = watch.assigned_ms[0], watch.assigned_ms[-1]
    return Round(
        kind=kind,
        log=copy,
        held_s=(last_ms - watch.registered_ms) / 1000,
        assigning_s=(last_ms - first_ms) / 1000,
    )


class _Watch:
    """What the controller's log says of the broker, by the records' own times."""

    def __init__(self, log: ControllerLog) -> None:
        self._log = log
        self.fenced = False
        self.registered_ms = 0
        self.assigned_ms: list[int] = []

    def look(self) -> None:
        """Read on."""
        for _, moment_ms, record in self._log.news():
            if isinstance(record, RegisterBroker) and not record.is_migrating_zk_broker:
                self.registered_ms = moment_ms
            elif isinstance(record, BrokerRegistrationChange) and record.fenced:
                self.fenced = record.fenced > 0
            elif isinstance(record, PartitionChange) and record.directories:
                self.assigned_ms.append(moment_ms)

    def is_fenced(self) -> bool:
        """Whether the controller has fenced it."""
        self.look()
        return self.fenced

    def is_registered(self) -> bool:
        """Whether it is in KRaft mode."""
        self.look()
        return self.registered_ms > 0

    def count(self) -> int:
        """How many of its replicas were assigned."""
        self.look()
        return len(self.assigned_ms)


@contextmanager
def _stalling(lab: Lab, controller: str, rng: random.Random) -> Iterator[None]:
    """Let the controller stand still for random times, and run for shorter ones, until the end."""
    over = threading.Event()
    failed: list[LabError] = []

    def stall() -> None:
        try:
            while not over.is_set():
                lab.freeze(controller)
                time.sleep(min(rng.expovariate(1 / _STANDS_S), _STANDS_S_MAX))
                lab.thaw(controller)
                time.sleep(rng.expovariate(1 / _RUNS_S))
        except LabError as error:
            failed.append(error)

    thread = threading.Thread(target=stall, name="stalls", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise MeasuringFailed(f"the controller could not be stalled: {failed[0]}")
