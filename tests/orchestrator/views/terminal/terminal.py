"""A real pseudo-terminal with a program in it, and what would stand on its screen.

What a program writes is followed as far as ours write it: text, line ends, the cursor's home, the
alternate screen and colours. Anything else is an error of the test, so that nothing is overlooked.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.cells import cell_len

_ESCAPE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
_HOME = "\x1b[H"
_PATIENCE_S = 180.0
_WATCHED_EVERY_S = 0.2


class Terminal:
    """Runs a program on a terminal of a size.

    Attributes:
        process: the program.
        written: everything that the program wrote so far.
        wide: lines that were wider than the screen when they were written.
    """

    def __init__(self, columns: int, rows: int, *command: str, **environment: str) -> None:
        self._master, slave = pty.openpty()
        self.columns, self.rows = columns, rows
        self.resize(columns, rows)
        given = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**given, "TERM": "xterm-256color", **environment},
            start_new_session=True,
            preexec_fn=_own_this_terminal,
        )
        os.close(slave)
        self.written = ""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self._master >= 0:
            os.close(self._master)

    def hang_up(self) -> int:
        """What a lost ssh does; how the program ended."""
        os.close(self._master)
        self._master = -1
        return self.process.wait(_PATIENCE_S)

    def resize(self, columns: int, rows: int) -> None:
        """What a person does with the window's corner."""
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Wait for a frame, written in the present size, of which something holds."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            self._read(0.2)
            frame = self.frame()
            if frame and holds(frame):
                return frame
            assert self.process.poll() is None, self.written[-2000:]
            assert time.monotonic() < deadline_s, "\n".join(frame)

    def look(self) -> list[str]:
        """Take what was written since, and return the last whole picture; older ones are forgotten.

        Until somebody looks, a program that writes much waits.
        """
        self._read(0)
        pictures = self.written.rsplit(_HOME, 2)
        if len(pictures) > 2:
            self.written = _HOME.join(("", *pictures[1:]))
        return self.frame()

    def wait_written(self, text: str) -> None:
        """Wait until the program has written a text."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while text not in self.written:
            self._read(0.2)
            assert self.process.poll() is None, self.written[-2000:]
            assert time.monotonic() < deadline_s, self.written[-2000:]

    def answer(self, question: str, typed: str) -> None:
        """Type a line once the program has asked for it."""
        self.wait_written(question)
        self.forget()
        os.write(self._master, f"{typed}\n".encode())

    def end(self) -> int:
        """Wait until the program has ended by itself; its exit code."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while (code := self.process.poll()) is None:
            self._read(0.1)
            assert time.monotonic() < deadline_s, self.written[-2000:]
        self._read(0.1)
        return code

    def frame(self) -> list[str]:
        """The last whole picture, line by line, without colours."""
        pictures = self.written.split(_HOME)
        whole = pictures[-2] if len(pictures) > 2 else ""
        return [_plain(each) for each in whole.split("\r\n")]

    def forget(self) -> None:
        """Look only at what is written from here on."""
        self.written = ""

    def interrupt(self) -> str:
        """Ctrl-C, and everything until the program has ended in good order."""
        self.process.send_signal(signal.SIGINT)
        assert self.end() == 0
        return self.written

    def _read(self, seconds: float) -> None:
        while select.select([self._master], [], [], seconds)[0]:
            try:
                self.written += os.read(self._master, 65_536).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                return
            seconds = 0.0


class WatchedTerminal(Terminal):
    """A terminal that is read all the time, so that its program never waits for a reader."""

    def __init__(self, columns: int, rows: int, *command: str, **environment: str) -> None:
        self._reading = threading.RLock()
        self._left = threading.Event()
        super().__init__(columns, rows, *command, **environment)
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._watcher.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._left.set()
        self._watcher.join()
        super().__exit__(kind, error, at)

    def look(self) -> list[str]:
        with self._reading:
            return super().look()

    def forget(self) -> None:
        with self._reading:
            super().forget()

    def _read(self, seconds: float) -> None:
        with self._reading:
            super()._read(seconds)

    def _watch(self) -> None:
        while self.process.poll() is None and not self._left.wait(_WATCHED_EVERY_S):
            self.look()


def _own_this_terminal() -> None:
    """So that it hears when the terminal is gone, as after a lost ssh: nothing is left behind.

    The tests may ignore SIGHUP (nohup); the program must not.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _plain(line: str) -> str:
    text = _ESCAPE.sub(_taken, line)
    assert "\x1b" not in text, repr(line)
    assert cell_len(text) == cell_len(text.rstrip("\r\n"))
    return text.rstrip()


def _taken(found: re.Match[str]) -> str:
    assert found[2] in "mhlJK", f"not followed: {found[0]!r}"
    return ""


def styles(written: str) -> list[list[int]]:
    """The numbers of every colour and style that was set."""
    return [
        [int(number or 0) for number in found[1].split(";")]
        for found in _ESCAPE.finditer(written)
        if found[2] == "m"
    ]
