"""The system calls of a hook's supervisor: its signals, and the processes that the hook started."""

import ctypes
import os
import signal
from typing import Final

import psutil

_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
_READ_BYTES: Final = 4096


class Signals:
    """Receives SIGCHLD, SIGTERM, SIGINT and SIGHUP as bytes of a pipe that can be polled.

    The process becomes a child subreaper.

    Raises:
        OSError: the system does not permit that.
    """

    def __init__(self) -> None:
        if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot become a child subreaper")
        self.reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: None)

    def wants_a_stop(self) -> bool:
        """Read the signals that have arrived; return whether one asks to stop the command."""
        try:
            came = os.read(self.reader, _READ_BYTES)
        except BlockingIOError:
            return False
        return signal.SIGTERM in came or signal.SIGINT in came


def descendants() -> list[psutil.Process]:
    """Return every process that descends from the command, in any session."""
    found = []
    for each in psutil.Process().children(recursive=True):
        try:
            if each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
        except psutil.NoSuchProcess:
            continue
    return found


def send(number: signal.Signals) -> None:
    """Send a signal to every descendant; those of another user cannot be signalled."""
    for each in descendants():
        try:
            each.send_signal(number)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
