"""What the supervisor of a hook has of the system: its signals, and whatever the hook started."""

import ctypes
import os
import signal
from typing import Final

import psutil

_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
_READ_BYTES: Final = 4096


class Signals:
    """The signals that matter here, as bytes of a pipe to poll; from now on this is a subreaper.

    Raises:
        OSError: the system does not let it be.
    """

    def __init__(self) -> None:
        if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot become a child subreaper")
        self.reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: None)

    def wants_a_stop(self) -> bool:
        """Read what came since; whether the command should be stopped is in it."""
        try:
            came = os.read(self.reader, _READ_BYTES)
        except BlockingIOError:
            return False
        return signal.SIGTERM in came or signal.SIGINT in came


def descendants() -> list[psutil.Process]:
    """Every process that comes from the command, whatever session it is in."""
    found = []
    for each in psutil.Process().children(recursive=True):
        try:
            if each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
        except psutil.NoSuchProcess:
            continue
    return found


def send(number: signal.Signals) -> None:
    """Send a signal to all of them; those of another user cannot be had."""
    for each in descendants():
        try:
            each.send_signal(number)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
