"""`kraftgate run` as a child that is killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psutil

from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from streams.state.store import Store, StoreError
from tests.support.polling import polls

CLUSTER = "lab"


class Killed:
    """One state directory and the process that follows into it now."""

    def __init__(self, folder: Path, bootstrap: str, cluster_id: str, more: str = "") -> None:
        self.state = folder / "state"
        self.config = folder / "kraftgate.yaml"
        self._output = folder / "run.log"
        self.config.write_text(
            f"cluster: {{name: {CLUSTER}, id: {cluster_id}}}\n"
            f'controllers: {{bootstrap: "{bootstrap}"}}\n'
            f"state_dir: {self.state}\n{more}",
            encoding="utf-8",
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Nothing runs yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind, whatever failed."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def start(self, *arguments: str) -> None:
        """Begin to follow, or go on; `arguments`: more of them for `run`."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "orchestrator", "run"),
                    *("--config", str(self.config), *arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """kill -9 of the driver and everything it started, at once."""
        assert self._process is not None
        doomed = [psutil.Process(self._process.pid)]
        doomed += doomed[0].children(recursive=True)
        for each in doomed:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(doomed, timeout=120)
        self._process.wait(120)

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(180)

    def summary(self) -> ClusterSummary | None:
        """What the store holds now."""
        try:
            with Store.open_readonly(self.state / "store.db") as store:
                return store.summary(CLUSTER)
        except StoreError:
            return None

    def events(self) -> list[Event]:
        """All events in the store."""
        with Store.open_readonly(self.state / "store.db") as store:
            return [event for _, event in store.events(CLUSTER)]

    def wait_for(
        self, holds: Callable[[ClusterSummary], bool], timeout_s: float = 180.0
    ) -> ClusterSummary:
        """Wait until the store holds a summary of which that is true."""
        for _ in polls(timeout_s):
            assert self._process is not None
            assert self._process.poll() is None, self._output.read_text("utf-8")[-3000:]
            summary = self.summary()
            if summary is not None and holds(summary):
                return summary
        raise AssertionError(
            f"not within {timeout_s} s: {self.summary()}\n{self._output.read_text('utf-8')[-3000:]}"
        )

    def wait_for_event(self, holds: Callable[[Event], bool], timeout_s: float = 180.0) -> Event:
        """Wait until an event of which that is true is in the store."""
        found: list[Event] = []

        def told(_: ClusterSummary) -> bool:
            found.extend(event for event in self.events() if holds(event))
            return bool(found)

        self.wait_for(told, timeout_s)
        return found[0]

    def leftovers(self) -> list[int]:
        """Processes that still name the state directory."""
        return [
            each.pid
            for each in psutil.process_iter()
            if each.pid != os.getpid() and _mentions(each, str(self.state))
        ]


def _mentions(process: psutil.Process, text: str) -> bool:
    try:
        return any(text in part for part in process.cmdline())
    except psutil.Error:
        return False
