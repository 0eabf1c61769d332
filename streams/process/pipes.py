"""Opens a path that may be a named pipe, without waiting for a process at its other end."""

import os
from typing import Final

_MODE: Final = 0o666


def without_waiting(path: str, flags: int) -> int:
    """Open a file, as the `opener` of `open`.

    A pipe without a writer is then at its end; one without a reader fails with ENXIO.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK, _MODE)
    os.set_blocking(descriptor, True)
    return descriptor
