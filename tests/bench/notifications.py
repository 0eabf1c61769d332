"""(i) Log directory notifications that are deleted 20 ms after their creation.

A substitute of the active ZooKeeper controller creates and deletes them, one process; another one
reads them by a plain ChildrenWatch of kazoo. Meanwhile a stub broker has its replicas assigned as
fast as the controller takes it, which keeps Kraftgate's Spark job busy. Of each notification the
store has the event of its content, or counts it as missed.
"""

import contextlib
import json
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from kazoo.exceptions import NoNodeError

from migration.metadata.event_kinds import EventKind
from migration.observed.znodes import CLUSTER_ID, NOTIFICATIONS
from orchestrator.lab import Lab
from tests.bench.live import CLUSTER, STUB_LAB, controller_log, following, wait_until
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say
from tests.bench.stub_broker import StubBroker
from tests.support.lab_steps import zookeeper_client

LIFE_S: Final = 0.020
"""From the answer to the creation until the deletion is sent; Kafka's controller takes 18 to 20."""

NUMBER: Final = 100
NUMBER_QUICK: Final = 20
MISSED_SHARE_MAX: Final = 0.01
_PAUSE_S: Final = 0.15
_WARM_S: Final = 10.0
_WAIT_S_MAX: Final = 60.0
_PARTITIONS: Final = 2000
_ASSIGNED_AT_ONCE: Final = 500
_SPAWN: Final = multiprocessing.get_context("spawn")


def run(home: Path, kraftgate: Path, runs: int, number: int) -> list[Figure]:
    """Measure `runs` times `number` notifications on one running Kraftgate, under load.

    Raises:
        MeasuringFailed: the lab, the load or Kraftgate did not do as it should, or Kraftgate did
            not account for each notification exactly once.
    """
    measured: list[tuple[int, int, int]] = []
    with Lab(STUB_LAB) as lab:
        lab.start_zookeeper()
        lab.start_kraft()
        connect = lab.zookeeper_connect
        with zookeeper_client(connect) as client:
            client.ensure_path(NOTIFICATIONS)
            content = {"version": "1", "id": lab.cluster_id}
            client.create(CLUSTER_ID, json.dumps(content).encode(), makepath=True)
        log = controller_log(lab)
        log.news()
        with (
            StubBroker(lab.controller_bootstrap, lab.cluster_id, lambda: log.end) as broker,
            following(lab, home, kraftgate, {"zookeeper": {"connect": connect}}) as follower,
        ):
            wait_until(
                "the first reading of ZooKeeper",
                lambda: _query(follower.state_dir, "count(*)", EventKind.ZOOKEEPER_SEEN) > 0,
                _WAIT_S_MAX,
            )
            broker.create_topic(_PARTITIONS)
            with _storm(broker) as assigned:
                time.sleep(_WARM_S)
                for each in range(1, runs + 1):
                    before, records, began = _events(follower.state_dir), assigned(), time.time()
                    plain = _notify(connect, number)
                    now = _accounted(follower.state_dir, before, number)
                    rate = (assigned() - records) / (time.time() - began)
                    measured.append((*now, plain))
                    say(
                        f"i: run {each}: of {number} Kraftgate read {now[0]} and missed {now[1]},"
                        f" the plain watch read {plain}; {rate:.0f} records/s"
                    )
    return figures(measured, number)


def figures(measured: list[tuple[int, int, int]], number: int) -> list[Figure]:
    """`measured`: what Kraftgate read and missed, and what the plain watch read, of each run."""
    title = f"notifications deleted after {LIFE_S * 1000:.0f} ms, of {number}"
    missed_max = number * MISSED_SHARE_MAX
    kraftgate, missed, plain = ([float(each[at]) for each in measured] for at in range(3))
    behind = [max(0.0, theirs - ours) for ours, theirs in zip(kraftgate, plain, strict=True)]
    return [
        Figure(part="i", name=f"{title}: read", unit="", runs=kraftgate),
        Figure(part="i", name="missed", unit="", runs=missed, bound=missed_max, worst=True),
        Figure(part="i", name="read by a plain ChildrenWatch", unit="", runs=plain),
        Figure(
            part="i", name="fewer than the plain watch", unit="", runs=behind, bound=0, worst=True
        ),
    ]


@contextlib.contextmanager
def _storm(broker: StubBroker) -> Iterator[Callable[[], int]]:
    """Have replicas assigned without a pause; yield the number of assignments so far."""
    over, count, failed = threading.Event(), [0], list[Exception]()

    def assign() -> None:
        first, directory = 0, 0
        try:
            while not over.is_set():
                broker.assign(range(first, first + _ASSIGNED_AT_ONCE), directory)
                count[0] += _ASSIGNED_AT_ONCE
                first += _ASSIGNED_AT_ONCE
                if first >= _PARTITIONS:
                    first, directory = 0, 1 - directory
        except (MeasuringFailed, OSError) as error:
            failed.append(error)

    thread = threading.Thread(target=assign, name="storm", daemon=True)
    thread.start()
    try:
        yield lambda: count[0]
    finally:
        over.set()
        thread.join()
    if failed:
        raise MeasuringFailed(f"the load ended early: {failed[0]}")


def _notify(connect: str, number: int) -> int:
    """Create and delete notifications; return how many the plain watch read."""
    ours, theirs = _SPAWN.Pipe()
    watch = _SPAWN.Process(target=plain_watch, args=(connect, theirs), daemon=True)
    controller = _SPAWN.Process(target=controller_of_20_ms, args=(connect, number), daemon=True)
    watch.start()
    try:
        if not ours.poll(_WAIT_S_MAX):
            raise MeasuringFailed(f"the plain watch is not set within {_WAIT_S_MAX:.0f} s")
        ours.recv()  # it is set
        controller.start()
        controller.join(_WAIT_S_MAX + number)
        if controller.exitcode != 0:
            raise MeasuringFailed(f"the substitute controller ended with {controller.exitcode}")
        ours.send("report")
        if not ours.poll(_WAIT_S_MAX):
            raise MeasuringFailed("the plain watch does not report")
        read: int = ours.recv()
        return read
    finally:
        for process in (watch, controller):
            if process.is_alive():
                process.kill()
            if process.ident is not None:
                process.join()


def controller_of_20_ms(connect: str, number: int) -> None:
    """Create notifications as a broker does, and delete each as the controller does."""
    with zookeeper_client(connect) as client:
        for _ in range(number):
            path = client.create(
                f"{NOTIFICATIONS}/log_dir_event_",
                b'{"version":1,"broker":2,"event":1}',
                sequence=True,
            )
            time.sleep(LIFE_S)
            client.delete(path)
            time.sleep(_PAUSE_S)


def plain_watch(connect: str, parent: Connection) -> None:
    """Read each child that a ChildrenWatch shows; report their number on request."""
    read: set[str] = set()
    with zookeeper_client(connect) as client:

        def children(names: list[str]) -> None:
            for name in names:
                with contextlib.suppress(NoNodeError):
                    client.get(f"{NOTIFICATIONS}/{name}")
                    read.add(name)

        client.ChildrenWatch(NOTIFICATIONS, children)
        parent.send("watching")
        parent.recv()
        parent.send(len(read))


def _accounted(state_dir: Path, before: tuple[int, int], number: int) -> tuple[int, int]:
    """Wait until all notifications are accounted for; return how many were read and missed."""

    def now() -> tuple[int, int]:
        read, missed = _events(state_dir)
        return read - before[0], missed - before[1]

    wait_until("the last notification", lambda: sum(now()) >= number, _WAIT_S_MAX)
    if sum(now()) != number:
        raise MeasuringFailed(f"{number} notifications were accounted for as {now()}")
    return now()


def _events(state_dir: Path) -> tuple[int, int]:
    """The notifications in the store's events so far: read, and missed."""
    read = _query(state_dir, "count(*)", EventKind.LOG_DIR_FAILURE_NOTIFIED)
    missed = _query(
        state_dir, "coalesce(sum(fields ->> 'count'), 0)", EventKind.NOTIFICATIONS_MISSED
    )
    return read, missed


def _query(state_dir: Path, what: str, kind: EventKind) -> int:
    file = state_dir / "store.db"
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        query = f"SELECT {what} FROM events WHERE cluster = ? AND kind = ?"  # noqa: S608
        found: int = db.execute(query, (CLUSTER, kind.value)).fetchone()[0]
    return found
