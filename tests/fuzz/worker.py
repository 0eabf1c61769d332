"""Runs a target's inputs in this process, with a time limit for each and a memory limit for all.

A file holds the number of the current input, so that the parent process knows which input ended
this process. A finding is printed as one line of JSON.
"""

import json
import logging
import mmap
import resource
import signal
import struct
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from tests.fuzz.target import Inputs, Target

GROWTH_BYTES_MAX: Final = 200 * 2**20
"""What an input may add to the process's memory."""
ADDRESSES_BYTES_MAX: Final = 2 * 2**30
"""What the process may reserve beyond its beginning: a bug must not take the machine with it."""
INPUT_S_MAX: Final = 5.0
"""Of the processor's time, so that a busy machine is no finding; the slowest takes 0.2 s."""
PLACE: Final = struct.Struct(">qq")
"""The number of the input that is read, and the peak of memory so far."""
_WARM_UP: Final = 3


class TooSlow(BaseException):
    """An input takes too long. Code under test must not catch this."""


class Memory:
    """How far the process's memory rises above its current size.

    Reads and resets the kernel's peak size (proc(5), clear_refs); the peak that getrusage reports
    includes that of the process which started this one.
    """

    def __init__(self) -> None:
        self._status = Path("/proc/self/status")
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        self._base = self._peak()

    def grown_bytes(self) -> int:
        """Return by how much, so far."""
        return self._peak() - self._base

    def _peak(self) -> int:
        status = self._status.read_bytes()
        at = status.index(b"VmHWM:") + len(b"VmHWM:")
        return int(status[at : status.index(b"kB", at)]) * 1024


def run(target: Target, seed: int, first: int, last: int, place: Path) -> None:
    """Read the inputs from `first` up to but excluding `last`.

    Of the inputs that fail at the same place, only the first is reported.
    """
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    inputs = Inputs(target, seed)
    for index in range(min(_WARM_UP, inputs.real)):
        read(target, inputs[index])
    _limit_addresses()
    memory, known = Memory(), set()
    with _placed(place) as at:
        for index in range(first, last):
            PLACE.pack_into(at, 0, index, memory.grown_bytes())
            found = read(target, inputs[index])
            grown = memory.grown_bytes()
            if grown > GROWTH_BYTES_MAX:
                found = Found(
                    "memory", f"took {grown // 2**20} MB" + (f": {found}" if found else "")
                )
            if found is not None and found.where not in known:
                known.add(found.where)
                print(json.dumps({"index": index, "what": found.what}), flush=True)  # noqa: T201
            if grown > GROWTH_BYTES_MAX:
                memory = Memory()
        PLACE.pack_into(at, 0, last, memory.grown_bytes())


class Found(NamedTuple):
    """A failure to read an input.

    Attributes:
        where: the place that failures of one kind have in common.
    """

    where: str
    what: str


def read(target: Target, data: bytes) -> Found | None:
    """Read one input; return the failure, or None."""
    try:
        with _bounded(INPUT_S_MAX):
            target.parse(data)
    except target.errors:
        return None
    except TooSlow as error:
        return Found("time", f"took over {INPUT_S_MAX:g} s at {_where(error)}")
    except BaseException as error:  # noqa: BLE001 that is what is looked for
        where = f"{type(error).__name__} at {_where(error)}"
        return Found(where, f"{where}: {str(error)[:200]}")
    return None


def _where(error: BaseException) -> str:
    frames = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in each.filename and "/json/" not in each.filename
    ]
    return " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in frames[:-4:-1])


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    def too_slow(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limit_addresses() -> None:
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES_BYTES_MAX, hard))


@contextmanager
def _placed(path: Path) -> Iterator[mmap.mmap]:
    if not path.exists():  # else another process reads it at any moment
        path.write_bytes(bytes(PLACE.size))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), PLACE.size) as at:
        yield at
