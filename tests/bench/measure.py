"""What a command costs, with everything it starts: wall, CPU, memory. No tools outside Python.

CPU time is the kernel's own, exact to the tick: the measuring process is made the reaper of
orphans, so a process of the tree is waited for by its parent or by us, and is in RUSAGE_CHILDREN.
Only where the parent ignores SIGCHLD, as PySpark's daemons do, the last sample counts. Memory is
sampled: PSS (pages that processes share are counted once), and RSS as the upper bound that is cheap
enough for every sample. MB are 10**6 bytes.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psutil

SAMPLE_S: Final = 0.05
_SHARE_MAX: Final = 0.04
"""Of one core, for the sampling of PSS: the kernel walks page tables for it."""
_LINGER_S_MAX: Final = 120.0
_SUBREAPER: Final = 36
_MB: Final = 10**6


class MeasuringFailed(Exception):
    """A command did not do its work, or left processes behind: its figures mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run of a command came to.

    Attributes:
        wall_s: from its start to its own end.
        cpu_s: user and system time of the whole tree.
        pss_mb: the highest sum of all processes' PSS that was seen, MB.
        rss_mb: the same of RSS, which counts shared pages as often as they are mapped.
        linger_s: how long processes of its own outlived it.
    """

    wall_s: float
    cpu_s: float
    pss_mb: float
    rss_mb: float
    linger_s: float


def tree(pid: int) -> list[psutil.Process]:
    """A process and all its descendants that are there now."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def memory_mb(processes: Iterable[psutil.Process]) -> tuple[float, float]:
    """Sum of PSS and of RSS, MB; RSS replaces a PSS that the kernel does not report."""
    pss = rss = 0
    for process in processes:
        try:
            pss += _pss(process.pid)
            rss += process.memory_info().rss
        except (psutil.NoSuchProcess, psutil.ZombieProcess, OSError):
            continue
    return pss / _MB, rss / _MB


def cpu_s(processes: Iterable[psutil.Process]) -> float:
    """CPU time of live processes and of those children of theirs that ended."""
    total = 0.0
    for process in processes:
        try:
            total += sum(process.cpu_times()[:4])
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return total


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    except (PermissionError, FileNotFoundError):
        return int(psutil.Process(pid).memory_info().rss)
    line = next((each for each in text.splitlines() if each.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024


def _waits_for_nobody(pid: int) -> bool:
    """Whether a process ignores SIGCHLD: the kernel forgets what its children used."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return False
    line = next(each for each in text.splitlines() if each.startswith("SigIgn:"))
    return bool(int(line.split()[1], 16) >> (signal.SIGCHLD - 1) & 1)


class _Watch(threading.Thread):
    """Samples a process tree until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(name="watch", daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self._forgotten_s: dict[psutil.Process, float] = {}
        self.pss_mb = self.rss_mb = 0.0

    @property
    def forgotten_s(self) -> float:
        """CPU time of processes for which nobody waits."""
        return sum(self._forgotten_s.values())

    def run(self) -> None:
        next_pss = 0.0
        while not self._over.wait(SAMPLE_S):
            processes = tree(self._pid)
            rss = 0
            for process in processes:
                try:
                    rss += process.memory_info().rss
                    if process in self._forgotten_s or _waits_for_nobody(process.ppid()):
                        self._forgotten_s[process] = cpu_s([process])
                except psutil.Error:
                    continue
            self.rss_mb = max(self.rss_mb, rss / _MB)
            if time.monotonic() >= next_pss:
                began = time.thread_time()
                self.pss_mb = max(self.pss_mb, memory_mb(processes)[0])
                next_pss = time.monotonic() + (time.thread_time() - began) / _SHARE_MAX

    def stop(self) -> None:
        self._over.set()
        self.join()


def reap_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind (Linux)."""
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
        raise MeasuringFailed("prctl(PR_SET_CHILD_SUBREAPER) was refused")


def measured(
    command: Sequence[str],
    *,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    log: Path,
    env: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command to its end, its stderr to `log`.

    Raises:
        MeasuringFailed: it did not exit with 0, or its processes did not end after it.
    """
    reap_orphans()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=errors,
            env=None if env is None else {**os.environ, **env},
        )
        watch = _Watch(process.pid)
        watch.start()
        try:
            code = process.wait()
            wall_s = time.perf_counter() - began
        finally:
            watch.stop()
            if process.poll() is None:
                process.kill()
                process.wait()
    linger_s = _reap_rest(command)
    if code != 0:
        tail = "\n".join(log.read_text("utf-8", "replace").splitlines()[-15:])
        raise MeasuringFailed(f"{command[0]} ended with {code}:\n{tail}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        wall_s=wall_s,
        cpu_s=after.ru_utime
        - before.ru_utime
        + after.ru_stime
        - before.ru_stime
        + watch.forgotten_s,
        pss_mb=watch.pss_mb,
        rss_mb=watch.rss_mb,
        linger_s=linger_s,
    )


def _reap_rest(command: Sequence[str]) -> float:
    """Wait for orphans of a run that is over: their time belongs to it."""
    began = time.monotonic()
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return time.monotonic() - began
        if pid == 0:
            if time.monotonic() - began > _LINGER_S_MAX:
                raise MeasuringFailed(f"processes of {command[0]} did not end with it")
            time.sleep(0.01)
