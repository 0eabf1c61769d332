"""Fuzzing one target: worker processes one after the other, watched from outside."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fuzz.worker import PLACE

HANGS_S: Final = 60.0
"""A worker that reads one input for so long waits, or is in code that no signal interrupts."""
FINDINGS_MAX: Final = 20
"""After so many of one target nothing new is learned."""
_POLL_S: Final = 0.1


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


def fuzz(
    target: str, seed: int, count: int, progress: Callable[[Outcome], None] = lambda _: None
) -> Outcome:
    """Have `count` inputs read. A worker that dies is replaced, behind the input that ended it."""
    outcome = Outcome(target)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "place")
        while outcome.inputs < count and len(outcome.findings) < FINDINGS_MAX:
            _one_worker(outcome, seed, count, place, progress)
    return outcome


def _one_worker(
    outcome: Outcome, seed: int, count: int, place: Path, progress: Callable[[Outcome], None]
) -> None:
    first = outcome.inputs
    place.write_bytes(PLACE.pack(first, 0))
    command = [sys.executable, "-m", "tests.fuzz", outcome.target, "--seed", str(seed)]
    with (
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as wrong,
        subprocess.Popen(
            [*command, "--worker", str(place), "--from", str(first), "--to", str(count)],
            stdout=said,
            stderr=wrong,
        ) as worker,
    ):
        try:
            hung = _watch(worker, outcome, place, progress)
        finally:
            worker.kill()
        code = worker.wait()
        said.seek(0)
        for line in said.read().splitlines():
            found = json.loads(line)
            outcome.findings.append(Finding(outcome.target, seed, found["index"], found["what"]))
        wrong.seek(0)
        last_words = wrong.read().decode(errors="replace").strip().splitlines()[-1:]
    index, _ = _look(outcome, place)
    if hung or code != 0:
        ended = f"held the process for over {HANGS_S:g} s" if hung else f"ended it with {code}"
        outcome.findings.append(
            Finding(outcome.target, seed, index, " ".join([ended, *last_words]))
        )
    outcome.inputs = index if code == 0 else index + 1
    progress(outcome)


def _watch(
    worker: "subprocess.Popen[bytes]",
    outcome: Outcome,
    place: Path,
    progress: Callable[[Outcome], None],
) -> bool:
    """Wait until the worker ends, or hangs: then it is true."""
    at, since = -1, time.monotonic()
    while worker.poll() is None:
        index, _ = _look(outcome, place)
        if index != at:
            at, since = index, time.monotonic()
            outcome.inputs = index
            progress(outcome)
        elif time.monotonic() - since > HANGS_S:
            return True
        time.sleep(_POLL_S)
    return False


def _look(outcome: Outcome, place: Path) -> tuple[int, int]:
    index, grown = PLACE.unpack(place.read_bytes())
    outcome.grown_bytes = max(outcome.grown_bytes, grown)
    return index, grown
