"""What tests and benchmarks do to processes that they started."""

from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil


def kill_tree(pid: int, spared: Callable[[psutil.Process], bool] = lambda _: False) -> None:
    """Send kill -9 to a process and everything below it, at once, and wait until all ended.

    `spared`: whether a process below it is left alone.
    """
    root = psutil.Process(pid)
    kill_all([root, *(each for each in root.children(recursive=True) if not spared(each))])


def kill_all(doomed: Iterable[psutil.Process]) -> None:
    """Send kill -9 to processes, some of which may end by themselves; wait until all ended."""
    doomed = list(doomed)
    for each in doomed:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(doomed, timeout=120)


def runs(process: psutil.Process) -> bool:
    """Whether it has not ended; a zombie has, whose parent has not noticed."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_of(process: psutil.Process) -> list[str]:
    """Return the command of a process; empty: it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
