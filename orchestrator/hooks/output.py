"""Writes the output of a hook to the disk: redacted, its first and its last part.

The first part is written as it arrives. Of the rest only the last part is stored, in memory until
the end, so it is lost if the supervisor dies.
"""

import os
from io import FileIO
from pathlib import Path
from typing import Final

from orchestrator.redaction.redactor import Redactor
from orchestrator.redaction.stream import RedactedStream
from streams.state.files import write_all

PART_BYTES: Final = 1024 * 1024


class HookOutput:
    """Accepts output of any length, and writes a file of bounded size.

    Attributes:
        total: bytes accepted.
        left_out: bytes that are not in the file; known after `close`.
        failed: why the file could not be written; "": it could.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = FileIO(str(path), "w")
        self._redactor = redactor
        self._stream = RedactedStream(redactor)
        self._room = PART_BYTES
        self._tail = bytearray()
        self.total = 0
        self.left_out = 0
        self.failed = ""

    def take(self, data: bytes) -> None:
        self.total += len(data)
        if self._room > 0:
            self._write(self._stream.feed(data[: self._room]))
        rest = data[self._room :]
        self._room -= len(data) - len(rest)
        self._tail += rest
        if len(self._tail) > 2 * PART_BYTES:
            surplus = len(self._tail) - PART_BYTES
            del self._tail[:surplus]
            self.left_out += surplus

    def close(self) -> None:
        """Write the last part and sync the file, so that it survives a power failure."""
        if self.left_out:
            # The stream may still hold half of a secret, so that line is left out.
            start, tail = self._redactor.tail(bytes(self._tail))
            self.left_out += start
            self._write(f"\n[kraftgate left out {self.left_out} bytes here]\n".encode() + tail)
        else:
            self._write(self._stream.feed(bytes(self._tail)) + self._stream.end())
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            self.failed = self.failed or str(error)

    def _write(self, data: bytes) -> None:
        if self.failed:
            return
        try:
            write_all(self._file, data)
        except OSError as error:
            self.failed = str(error)
