"""Reports unexpected errors: one line for the operator, and a file with the traceback.

The file is in the state directory once the configuration has been read, else in the directory for
temporary files. Threads and libraries' logs print no traceback either.
"""

import logging
import os
import socketserver
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from orchestrator.output.printing import echo_message, echo_text, flush, forget_output

PREFIX: Final = "kraftgate-crash-"
_KEPT_MAX: Final = 20
_ABORTED: Final = 1
_CHARACTERS_MAX: Final = 2000
_home: Path | None = None


def keep_in(state_dir: Path) -> None:
    """Write tracebacks to this directory from now on, if it exists."""
    global _home  # one process, one state directory
    _home = state_dir


def described(error: BaseException) -> str:
    """Return what happened in one line; the traceback of an unexpected error is stored."""
    match error:
        case OSError(strerror=str()):
            return of_system(error)
        case MemoryError():
            return "out of memory"
    return f"unexpected error: {in_a_line(error)}; {_kept(error)}"


def of_system(error: OSError) -> str:
    """Return an error of the operating system in one line."""
    why = error.strerror or str(error)
    if why.startswith("No usable temporary directory"):
        why = f"{why}: set TMPDIR to a directory that this user can write to"
    return why if error.filename is None else f"{os.fsdecode(error.filename)}: {why}"


def in_a_line(error: BaseException) -> str:
    """Return the error's type and message, in one line."""
    what = " ".join(str(error).split())
    return f"{type(error).__name__}: {what}" if what else type(error).__name__


def why_ended(error: BaseException | None) -> str:
    """Return the error that ended a process, in one line; "": it was stopped."""
    if error is None or isinstance(error, KeyboardInterrupt) or is_interrupt(error):
        return ""
    return in_a_line(error)[:_CHARACTERS_MAX]


def is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C caused it: Python 3.11 wraps what a class definition raises."""
    return isinstance(error.__cause__, KeyboardInterrupt)


def shows_tracebacks() -> bool:
    """Return whether -vv was given."""
    return logging.getLogger("orchestrator").isEnabledFor(logging.DEBUG)


def quiet() -> None:
    """Prepare this process: threads print no traceback, and standard streams accept any text."""
    threading.excepthook = _of_thread
    sys.unraisablehook = _of_destructor
    logging.raiseExceptions = False
    socketserver.BaseServer.handle_error = _of_server  # type: ignore[assignment,method-assign]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed: the next opened file would get its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")
    _name_errors(sys.stdout.buffer)


def _name_errors(buffer: Any) -> None:  # noqa: ANN401  # without a buffer it is the raw file
    """Let the errors of writes to standard output name it; the system names no file."""
    raw = getattr(buffer, "raw", buffer)
    write: Callable[[bytes], int | None] = raw.write

    def written(data: bytes) -> int | None:
        try:
            return write(data)
        except OSError as error:
            why = f"{error.strerror}: redirect it to another file"
            raise OSError(error.errno, why, "standard output") from error

    raw.write = written


def guarded(function: Callable[[], int | None]) -> int:
    """Run the program of a `python -m` and return its exit code, even if it raises."""
    quiet()
    try:
        code = function() or 0
        flush()
    except (KeyboardInterrupt, BrokenPipeError):
        forget_output()
        return _ABORTED
    except Exception as error:  # noqa: BLE001  # the last place that can report it in one line
        forget_output()
        if is_interrupt(error):
            return _ABORTED
        echo_message(f"kraftgate: {described(error)}", err=True)
        return 1
    return code


def _kept(error: BaseException) -> str:
    """Store the traceback; return where it is, as text."""
    text = "".join(traceback.format_exception(error))
    if shows_tracebacks():
        echo_text(text, err=True)
    try:
        home = _home if _home is not None and _home.is_dir() else Path(tempfile.gettempdir())
        if len(list(home.glob(f"{PREFIX}*"))) >= _KEPT_MAX:
            return f"{home} has {_KEPT_MAX} tracebacks already: remove them"
        began = f"{PREFIX}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-"
        handle, name = tempfile.mkstemp(".txt", began, home, text=True)
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
            file.write(text)
    except OSError as why:
        return f"its traceback could not be kept ({why.strerror})"
    return f"its traceback is in {name}"


def _of_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_value is None or isinstance(told.exc_value, SystemExit):
        return
    name = told.thread.name if told.thread is not None else "?"
    logging.getLogger(__name__).error("thread %s ended: %s", name, described(told.exc_value))


def _of_server(server: socketserver.BaseServer, request: object, client_address: object) -> None:  # noqa: ARG001
    """Log a failed request at debug level instead of printing it, as socketserver does.

    Spark's JVM closed the connection in the middle of a request.
    """
    name = type(server).__name__
    logging.getLogger(__name__).debug(
        "%s: a request of %s failed", name, client_address, exc_info=sys.exc_info()
    )


def _of_destructor(told: "sys.UnraisableHookArgs") -> None:
    logging.getLogger(__name__).debug("ignored: %s", told.err_msg, exc_info=told.exc_value)
