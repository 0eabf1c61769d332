"""What a hook prints, on its way to the disk: without secrets, its first and its last part.

The first part is written as it comes. Of more than that the last part is kept in memory until the
end, so it is lost when the supervisor is.
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
    """Takes output of any length, and keeps a bounded file of it.

    Attributes:
        total: bytes that were taken.
        left_out: bytes of them that are not in the file; known after `close`.
        failed: why the file could not be written; "" while it could.
    """

    def __init__(self, path: Path, redactor: Redactor, part_bytes: int = PART_BYTES) -> None:
        self._file = FileIO(str(path), "w")
        self._redactor = redactor
        self._stream = RedactedStream(redactor)
        self._room = part_bytes
        self._part = part_bytes
        self._tail = bytearray()
        self.total = 0
        self.left_out = 0
        self.failed = ""

    def take(self, data: bytes) -> None:
        """Take what was printed."""
        self.total += len(data)
        if self._room > 0:
            self._write(self._stream.feed(data[: self._room]))
        rest = data[self._room :]
        self._room -= len(data) - len(rest)
        self._tail += rest
        if len(self._tail) > 2 * self._part:
            surplus = len(self._tail) - self._part
            del self._tail[:surplus]
            self.left_out += surplus

    def close(self) -> None:
        """Write the last part, and make it survive a power cut."""
        if self.left_out:
            # What the stream still holds may be half a secret; its line is left out.
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
