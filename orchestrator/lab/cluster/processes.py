"""The part of a lab that has processes: its home, its ports, its faults and its end.

Other modules use `Lab` in lab.py. It is built in five layers to keep each module small: names and
places (layout.py), processes (here), members (members.py), data (data.py), the migration and its
rollback (lab.py).
"""

import atexit
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

from orchestrator.lab.cluster.layout import Layout, Member
from orchestrator.lab.cluster.spec import LabSpec
from orchestrator.lab.errors import LabError, WrongStateError
from orchestrator.lab.machine.archive import sharing
from orchestrator.lab.machine.home import claim_home
from orchestrator.lab.machine.jars import ensure_agent, ensure_jars
from orchestrator.lab.machine.java import Java, find_java
from orchestrator.lab.machine.ports import Ports
from orchestrator.lab.machine.process import Process
from orchestrator.lab.machine.waiting import Waiter

_STOP_S_MAX = 60.0
_CLOSE_S_MAX = 15.0


class LabProcesses(Layout):
    """Owns the home directory and every process below it; a context manager.

    Leaving the context ends all processes: in order when the home was given, since its data may be
    inspected later; with SIGKILL when the home is temporary, and then the home is removed, too.
    SIGTERM to this process also leaves the context, when it was entered on the main thread. If this
    process is killed, the kernel kills the lab's processes.

    Args:
        home: An empty or absent directory; None: a temporary one.

    Raises:
        LabError: Java, Maven or the jars are missing, or the home is in use.
    """

    def __init__(self, spec: LabSpec | None = None, home: Path | None = None) -> None:
        spec = spec or LabSpec()
        java = find_java()
        jars = ensure_jars()
        self._agent = ensure_agent() if spec.jmx else None
        self._temporary = home is None
        home = (home or Path(tempfile.mkdtemp(prefix="kraftgate-lab-"))).absolute()
        self._lock_handle = claim_home(home)
        super().__init__(spec, home, Ports())
        log4j = self.home / "config" / "log4j.properties"
        log4j.parent.mkdir(parents=True, exist_ok=True)
        log4j.write_bytes((files(__package__) / "log4j.properties").read_bytes())
        self._java = Java(java, jars, log4j, sharing(java))
        self._waiter = Waiter()
        self._processes: dict[str, Process] = {}
        self._changing = threading.RLock()
        self._closing: list[Callable[[], None]] = []
        self._old_sigterm: Callable[[int, FrameType | None], object] | int | None = None
        self._closed = False
        atexit.register(self.close)

    def __enter__(self) -> Self:
        on_main = threading.current_thread() is threading.main_thread()
        if on_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._old_sigterm = signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            if self._old_sigterm is not None:
                signal.signal(signal.SIGTERM, self._old_sigterm)

    def end_waits(self) -> None:
        """End every wait with LabError, so that other threads release the lab."""
        self._waiter.close()

    def close(self) -> None:
        """End every wait and every process; a second call does nothing.

        Raises:
            WaitTimedOutError: A process survived SIGKILL; all others have ended.
        """
        self._waiter.close()
        with self._changing:
            if self._closed:
                return
            self._closed = True
            atexit.unregister(self.close)
            try:
                for end in self._closing:
                    end()
                if not self._temporary:
                    self._stop_all_in_order()
            finally:
                self._kill_all()
                self._ports.close()
                self._lock_handle.close()
                if self._temporary:
                    shutil.rmtree(self.home)

    def kill(self, name: str) -> None:
        """Send SIGKILL to a process and wait for its end."""
        self._process(name).kill()

    def freeze(self, name: str) -> None:
        """Send SIGSTOP: the process keeps its connections and does nothing until thawed."""
        self._process(name).freeze()

    def thaw(self, name: str) -> None:
        """Send SIGCONT to a frozen process."""
        self._process(name).thaw()

    def stop(self, who: int | str, *, timeout_s: float = _STOP_S_MAX) -> None:
        """Stop a broker by its id, or any process by its name, in order.

        On SIGTERM a broker transfers its leaderships. A process that does not end in time still
        runs after the WaitTimedOutError.
        """
        process = self._process(self._named(who).name)
        if not process.alive:
            raise WrongStateError(
                f"{process.name} does not run",
                where=str(process.log),
                fix=f"Start it first: kraftgate lab restart {process.name}.",
            )
        process.terminate()
        self.wait_dead(process.name, timeout_s=timeout_s)

    def is_alive(self, name: str) -> bool:
        """Return whether the process runs; a frozen one does."""
        with self._changing:
            process = self._processes.get(self.named(name).name)
        return process is not None and process.alive

    def is_frozen(self, name: str) -> bool:
        return self.is_alive(name) and self._process(name).frozen

    def pid(self, name: str) -> int:
        return self._process(name).pid

    def wait_for_log(self, name: str, pattern: str, *, timeout_s: float = 180.0) -> re.Match[str]:
        """Wait until the process has logged a match since its last start, and return it.

        Raises:
            ProcessDiedError: It ended without a match.
        """
        process, compiled = self._process(name), re.compile(pattern)
        return self._waiter.until(
            f"{name} to log {pattern!r}",
            lambda: process.find(compiled),
            timeout_s=timeout_s,
            where=str(process.log),
            tail=process.tail,
        )

    def wait_dead(self, name: str, *, timeout_s: float = 180.0) -> None:
        """Wait until the process has ended by itself."""
        process = self._process(name)
        self._waiter.until(
            f"{name} to end",
            lambda: not process.alive,
            timeout_s=timeout_s,
            where=str(process.log),
            tail=process.tail,
        )

    def _launch(self, member: Member, command: Sequence[str]) -> None:
        with self._changing:
            if self._waiter.closed:
                raise LabError("the lab is closed", where=member.name, fix="Start a new lab.")
            running = self._processes.get(member.name)
            if running is not None and running.alive:
                raise WrongStateError(
                    f"{member.name} runs already",
                    where=f"process {running.pid}",
                    fix=f"Stop it first: kraftgate lab stop {member.name}",
                )
            log = self.log_file(member.name)
            self._processes[member.name] = Process(member.name, command, log)

    def _named(self, who: int | str) -> Member:
        return self.broker(who) if isinstance(who, int) else self.named(who)

    def _process(self, name: str) -> Process:
        with self._changing:
            process = self._processes.get(self.named(name).name)
        if process is None:
            raise WrongStateError(f"{name} was never started", where="lab", fix="Start it first.")
        return process

    def _stop_all_in_order(self) -> None:
        """Stop brokers, then controllers, then ZooKeeper, each group within its time limit."""
        for group in (self.brokers, self.controllers, self.zookeepers):
            names = {member.name for member in group.values()}
            members = [p for p in self._processes.values() if p.name in names]
            going = [p for p in members if p.alive and not p.frozen]
            for process in going:
                process.terminate()
            for process in going:
                process.ended_within(_CLOSE_S_MAX)

    def _kill_all(self) -> None:
        survivors: list[LabError] = []
        for process in self._processes.values():
            try:
                process.kill()
            except LabError as error:
                survivors.append(error)
        if survivors:
            raise survivors[0]


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
