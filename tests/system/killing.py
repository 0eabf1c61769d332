"""`kraftgate run` as a child that is killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from migration.assessment.currency import with_reports
from migration.image.summary import ClusterSummary
from migration.metadata.events import Event
from orchestrator.errors import ExitCode
from orchestrator.run.reader import read_sources
from streams.state.claim import claimed
from streams.state.store import Store, StoreError
from tests.support.polling import polls
from tests.support.processes import kill_tree, runs

CLUSTER = "lab"


class Killed:
    """One state directory and the process that follows into it now."""

    def __init__(self, folder: Path, bootstrap: str, cluster_id: str, more: str = "") -> None:
        self.state = folder / "state"
        self.config = folder / "kraftgate.yaml"
        self.program: Sequence[str] = (sys.executable, "-m", "orchestrator")
        self._output = folder / "run.log"
        self._errors = folder / "run.err"
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
        with self._output.open("ab") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*self.program, "run", "--config", str(self.config), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Take a `kraftgate run` that was started in another way, such as in a terminal."""
        self._output.touch()
        self._errors.touch()
        self._process = process

    def java(self) -> psutil.Process | None:
        """Its JVM, once there is one."""
        for each in self.below():
            # What the shell started on the way may be gone.
            with suppress(psutil.NoSuchProcess):
                if each.name() == "java":
                    return each
        return None

    def kill(self) -> None:
        """kill -9 of the driver and everything it started, at once."""
        assert self._process is not None
        kill_tree(self._process.pid)
        self._process.wait(120)

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        assert self._process is not None
        below = self.below()
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(180)
        assert not [each for each in below if runs(each)]
        return code

    def terminate_each(self) -> None:
        """What systemd does: KillMode=control-group is its default."""
        assert self._process is not None
        for each in [*reversed(self.below()), psutil.Process(self._process.pid)]:
            with suppress(psutil.NoSuchProcess):
                each.terminate()

    def terminate_group(self) -> None:
        """What a shell does that ends a job."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGTERM)

    def interrupt_group(self, number: signal.Signals = signal.SIGINT) -> None:
        """What a terminal does on Ctrl-C, or with SIGHUP when it is closed."""
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def stopped(self, stop: Callable[[], None]) -> None:
        """Stop it that way: it ends in good order, and leaves a whole store and no process."""
        below = self.below()
        stop()
        code, errors = self.ended()
        assert not [each for each in below if runs(each)]
        assert (code, "Error" in errors) == (ExitCode.DONE, False), errors
        assert not self.leftovers()
        with claimed(self.state), Store.open_readonly(self.state / "store.db") as store:
            assert store.clusters() == [CLUSTER]  # the next run can open it

    def exit_code(self) -> int:
        """Wait until it has ended."""
        assert self._process is not None
        return self._process.wait(180)

    def ended(self) -> tuple[int, str]:
        """Wait until it has ended by itself; the exit code and what it printed to stderr."""
        assert self._process is not None
        code, errors = self.exit_code(), self._errors.read_text("utf-8")
        printed = self._output.read_text("utf-8") + errors
        assert "Traceback" not in printed, printed[-10_000:]
        return code, errors

    def summary(self, cluster: str = CLUSTER) -> ClusterSummary | None:
        """What the store and the sources' reports say of the cluster now."""
        try:
            with Store.open_readonly(self.state / "store.db") as store:
                summary = store.summary(cluster)
            return summary and with_reports(summary, read_sources(self.state, cluster))
        except StoreError:
            return None

    def events(self) -> list[Event]:
        """All events in the store."""
        with Store.open_readonly(self.state / "store.db") as store:
            return [event for _, event in store.events(CLUSTER)]

    def wait_for(
        self,
        holds: Callable[[ClusterSummary], bool],
        timeout_s: float = 600.0,
        cluster: str = CLUSTER,
    ) -> ClusterSummary:
        """Wait until the store holds a summary of which that is true."""
        for _ in polls(timeout_s, pause_s_min=0.3):
            assert self._process is not None
            assert self._process.poll() is None, self._printed()
            summary = self.summary(cluster)
            if summary is not None and holds(summary):
                return summary
        raise AssertionError(
            f"not within {timeout_s} s: {self.summary(cluster)}\n{self._printed()}"
        )

    def wait_for_event(self, holds: Callable[[Event], bool], timeout_s: float = 180.0) -> Event:
        """Wait until an event of which that is true is in the store."""
        found: list[Event] = []
        read = 0

        def is_stored(_: ClusterSummary) -> bool:
            nonlocal read
            with Store.open_readonly(self.state / "store.db") as store:
                fresh = store.events(CLUSTER, after=read)
            read = fresh[-1][0] if fresh else read
            found.extend(event for _, event in fresh if holds(event))
            return bool(found)

        self.wait_for(is_stored, timeout_s)
        return found[0]

    def _printed(self) -> str:
        return self._output.read_text("utf-8")[-3000:] + self._errors.read_text("utf-8")

    def below(self) -> list[psutil.Process]:
        """Its processes, without itself."""
        assert self._process is not None
        return psutil.Process(self._process.pid).children(recursive=True)

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
