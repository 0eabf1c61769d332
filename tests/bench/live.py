"""`kraftgate run` as a process of its own on a lab's controllers, for (c) and (d)."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from migration.metadata.records import Record
from orchestrator.lab import Lab, LabSpec
from streams.wire.batches import read_batches
from streams.wire.records import read_records
from tests.bench.measure import MeasuringFailed
from tests.support.processes import kill_tree

CLUSTER: Final = "bench"
STUB_LAB: Final = LabSpec(
    brokers=0,
    controller_heap_mb=512,
    controller_properties={"broker.session.timeout.ms": "60000"},
)
"""Of a stub broker. A busy machine may delay its heartbeats for more than the default of 9 s, and
the controller that fences its only broker changes every partition.
"""
_START_S_MAX: Final = 300.0
_STOP_S_MAX: Final = 180.0
_POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Following:
    """A running `kraftgate run`; `log`: all that it prints."""

    pid: int
    state_dir: Path
    log: Path

    def batches(self, cluster: str = CLUSTER) -> list[tuple[int, int]]:
        """The store's latest batches: metadata offset, moment of the commit (ms)."""
        file = self.state_dir / "store.db"
        if not file.is_file():
            return []
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
            try:
                return db.execute(
                    "SELECT place ->> 'kraft_metadata' AS metadata_offset, committed_ms "
                    "FROM batches WHERE cluster = ? AND metadata_offset NOT NULL "
                    "ORDER BY metadata_offset",
                    (cluster,),
                ).fetchall()
            except sqlite3.OperationalError:
                return []  # the tables are not there yet

    def reached(self, cluster: str = CLUSTER) -> int:
        """The metadata offset of the last commit; -1 before the first."""
        return max((offset for offset, _ in self.batches(cluster)), default=-1)


@contextlib.contextmanager
def controllers_only() -> Iterator[Lab]:
    """A lab with one KRaft controller, which writes no-op records and nothing else by itself."""
    with Lab(STUB_LAB) as lab:
        lab.start_kraft()
        yield lab


@contextlib.contextmanager
def in_migration() -> Iterator[Lab]:
    """A lab in the hybrid phase: each of the four sources has something to observe."""
    with Lab(LabSpec(brokers=1, directories=2, jmx=True)) as lab:
        lab.start_zookeeper()
        lab.start_brokers()
        lab.start_controllers()
        lab.enter_migration(1)
        lab.wait_copied()
        yield lab


def four_sources(lab: Lab) -> dict[str, object]:
    """Return the keys of a cluster's four sources."""
    return {
        "zookeeper": {"connect": lab.zookeeper_connect},
        "controllers": {"bootstrap": lab.controller_bootstrap},
        "brokers": {"bootstrap": lab.broker_bootstrap},
        "jmx": {"exporters": {str(id_): url for id_, url in lab.jmx_exporters.items()}},
    }


@contextlib.contextmanager
def following(
    lab: Lab, home: Path, kraftgate: Path, more: Mapping[str, object] | None = None
) -> Iterator[Following]:
    """Start `kraftgate run` and yield when its first batch is committed; Ctrl-C ends it.

    `more`: keys of the configuration.

    Raises:
        MeasuringFailed: it ended by itself, or did not start or end in time.
    """
    state_dir = home.absolute() / "state"
    home.mkdir(exist_ok=True)
    config = home / "kraftgate.yaml"
    one = {
        "cluster": {"name": CLUSTER},
        "controllers": {"bootstrap": lab.controller_bootstrap},
    }
    content = {**({} if more and "clusters" in more else one), **(more or {})}
    content["state_dir"] = str(state_dir)
    config.write_text(json.dumps(content), encoding="utf-8")
    log = home / "run.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(kraftgate), "run", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    found = Following(process.pid, state_dir, log)
    try:
        wait_until("the first commit", lambda: found.reached() >= 0, _START_S_MAX, process, log)
        yield found
        if process.poll() is not None:
            raise MeasuringFailed(_ended(process, log))
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired as error:
            raise MeasuringFailed(f"kraftgate run still runs {_STOP_S_MAX} s after ^C") from error
        if code != 0:
            raise MeasuringFailed(_ended(process, log))
    finally:
        if process.poll() is None:
            # The sources still write to the state directory, which is removed after this.
            kill_tree(process.pid)
            process.wait()


def wait_until(
    what: str,
    condition: Callable[[], bool],
    timeout_s: float,
    process: "subprocess.Popen[bytes] | None" = None,
    log: Path | None = None,
) -> None:
    """Poll until a condition holds.

    Raises:
        MeasuringFailed: it does not in time, or the process ended.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if process is not None and log is not None and process.poll() is not None:
            raise MeasuringFailed(_ended(process, log))
        if time.monotonic() > deadline:
            raise MeasuringFailed(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(_POLL_S)


@dataclass(slots=True)
class ControllerLog:
    """The active controller's own log on disk, read on from where the last reading ended."""

    path: Path
    _position: int = 0
    end: int = 0

    def news(self) -> list[tuple[int, int, Record]]:
        """What was appended since: metadata offset, the controller's timestamp (ms), record."""
        with self.path.open("rb") as file:
            file.seek(self._position)
            buffer = file.read()
        found: list[tuple[int, int, Record]] = []
        start = self._position
        for batch in read_batches(
            buffer, file=self.path.name, position=start, allow_partial_tail=True
        ):
            if not batch.is_control:
                found += read_records(batch)
            self._position = batch.position + batch.size
            self.end = batch.last_offset + 1
        return found


def controller_log(lab: Lab) -> ControllerLog:
    """The log of the lab's one controller."""
    folder = lab.metadata_log_dir(f"controller-{lab.active_controller()}")
    return ControllerLog(max(folder.glob("*.log")))


def _ended(process: "subprocess.Popen[bytes]", log: Path) -> str:
    tail = "\n".join(log.read_text("utf-8", "replace").splitlines()[-15:])
    return f"kraftgate run ended with {process.returncode}:\n{tail}"
