"""Fuzzing one target: worker processes one after the other, watched from outside."""

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import PLACE, run

HANGS_S: Final = 60.0
"""A worker that reads one input for so long waits, or is in code that no signal interrupts."""
FINDINGS_MAX: Final = 20
"""After so many of one target nothing new is learned."""
_POLL_S: Final = 0.1
_WORKERS: Final = multiprocessing.get_context("forkserver")
# Each worker is a fork of a process that has imported the parsers once.
_WORKERS.set_forkserver_preload(["tests.fuzz.targets"])


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that a parser does not take as it must."""

    target: str
    seed: int
    index: int
    what: str

    def __str__(self) -> str:
        """What happened, and how to see it again."""
        again = f"python -m tests.fuzz {self.target} --seed {self.seed} --index {self.index}"
        return f"{self.target}: {self.what}\n    {again}"


@dataclass(slots=True)
class Outcome:
    """What came of a target.

    Attributes:
        inputs: how many were read.
        grown_bytes: by how much memory grew at most, in any of the processes.
    """

    target: str
    inputs: int = 0
    grown_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)


def known(name: str) -> Target:
    """Return the target of that name."""
    return TARGETS[name]


def fuzz(
    target: str,
    seed: int,
    count: int,
    progress: Callable[[Outcome], None] = lambda _: None,
    find: Callable[[str], Target] = known,
) -> Outcome:
    """Have `count` inputs read. A worker that dies is replaced, behind the input that ended it.

    `find`: returns the target in the worker's process.
    """
    outcome = Outcome(target)
    with tempfile.TemporaryDirectory() as folder:
        while outcome.inputs < count and len(outcome.findings) < FINDINGS_MAX:
            _one_worker(outcome, seed, count, Path(folder), progress, find)
    return outcome


def _one_worker(
    outcome: Outcome,
    seed: int,
    count: int,
    folder: Path,
    progress: Callable[[Outcome], None],
    find: Callable[[str], Target],
) -> None:
    first = outcome.inputs
    place = folder / "place"
    place.write_bytes(PLACE.pack(first, 0))
    worker = _WORKERS.Process(target=_work, args=(find, outcome.target, seed, first, count, folder))
    worker.start()
    try:
        hung = _watch(worker, outcome, place, progress)
    finally:
        worker.kill()
        worker.join()
    code = worker.exitcode
    worker.close()
    for line in (folder / "said").read_bytes().splitlines():
        found = json.loads(line)
        outcome.findings.append(Finding(outcome.target, seed, found["index"], found["what"]))
    last_words = (folder / "wrong").read_text(errors="replace").strip().splitlines()[-1:]
    index, _ = _look(outcome, place)
    if hung or code != 0:
        ended = f"held the process for over {HANGS_S:g} s" if hung else f"ended it with {code}"
        outcome.findings.append(
            Finding(outcome.target, seed, index, " ".join([ended, *last_words]))
        )
    outcome.inputs = index if code == 0 else index + 1
    progress(outcome)


def _work(
    find: Callable[[str], Target], name: str, seed: int, first: int, last: int, folder: Path
) -> None:
    """Be the worker: findings go to one file, a traceback to another.

    Its temporary files go with `folder`: such a process ends without the finalizers of tempfile.
    """
    tempfile.tempdir = str(folder)
    for file, descriptor in (("said", 1), ("wrong", 2)):
        os.dup2(os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    run(find(name), seed, first, last, folder / "place")


def _watch(
    worker: ForkServerProcess,
    outcome: Outcome,
    place: Path,
    progress: Callable[[Outcome], None],
) -> bool:
    """Wait until the worker ends, or hangs: then it is true."""
    at, since = -1, time.monotonic()
    while worker.is_alive():
        index, _ = _look(outcome, place)
        if index != at:
            at, since = index, time.monotonic()
            outcome.inputs = index
            progress(outcome)
        elif time.monotonic() - since > HANGS_S:
            return True
        worker.join(_POLL_S)
    return False


def _look(outcome: Outcome, place: Path) -> tuple[int, int]:
    index, grown = PLACE.unpack(place.read_bytes())
    outcome.grown_bytes = max(outcome.grown_bytes, grown)
    return index, grown
