"""(j) What an operator waits for: commands that ask nothing of the cluster.

The state directories come from a replay: of a small log, and with (a)'s number of partitions. Each
command runs as a process of its own, with warm caches, and its exit code is compared.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.generate import Shape, generate
from tests.bench.measure import MeasuringFailed, measured
from tests.bench.result import Figure, say

SMALL: Final = Shape(partitions=300, brokers=5, directories=3)
HELP_MS: Final = 100.0
SMALL_MS: Final = 500.0
LARGE_MS: Final = 2_000.0
_WAIT: Final = ("wait", "--condition", "offset(1)", "--timeout", "1s")
_WAIT_MS: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class _Command:
    """A command and what it is held to.

    Attributes:
        code: its exit code.
    """

    name: str
    words: Sequence[str]
    bound_ms: float
    code: int = 0


def replayed(home: Path, kraftgate: Path, shape: Shape) -> Path:
    """Return a configuration whose state directory is that of a replayed, generated log."""
    home.mkdir()
    file, _, _ = generate(shape, home / "log")
    command = [kraftgate, "replay", file.parent, "--state-dir", home / "replayed"]
    measured([str(each) for each in command], log=home / "replay.log")
    config = home / "kraftgate.yaml"
    config.write_text(
        f"cluster: {{name: replay}}\nstate_dir: {home / 'replayed' / 'state'}\n", encoding="utf-8"
    )
    return config


def run(home: Path, kraftgate: Path, runs: int, shape: Shape) -> list[Figure]:
    """Measure each command `runs` times, after one that warms the caches.

    Raises:
        MeasuringFailed: a command ended otherwise than it should.
    """
    small = replayed(home / "small", kraftgate, SMALL)
    large = small if shape == SMALL else replayed(home / "large", kraftgate, shape)
    commands = [
        _Command("--help", ["--help"], HELP_MS),
        _Command("status of a small cluster", ["status", *_of(small)], SMALL_MS, 4),
        _Command("hazards of a small cluster", ["hazards", *_of(small)], SMALL_MS, 4),
        _Command("wait, with its timeout of 1 s", [*_WAIT, *_of(small)], SMALL_MS + _WAIT_MS, 4),
        _Command(
            f"status of {shape.partitions:,} partitions", ["status", *_of(large)], LARGE_MS, 4
        ),
    ]
    return [_figure(each, kraftgate, runs) for each in commands]


def _of(config: Path) -> Sequence[str]:
    return "--config", str(config)


def _figure(command: _Command, kraftgate: Path, runs: int) -> Figure:
    _timed_ms(command, kraftgate)
    found = [_timed_ms(command, kraftgate) for _ in range(runs)]
    say(f"j: {command.name}: {', '.join(f'{each:.0f}' for each in found)} ms")
    return Figure(part="j", name=command.name, unit="ms", runs=found, bound=command.bound_ms)


def _timed_ms(command: _Command, kraftgate: Path) -> float:
    began_s = time.perf_counter()
    done = subprocess.run([str(kraftgate), *command.words], capture_output=True, check=False)
    took_s = time.perf_counter() - began_s
    if done.returncode != command.code:
        raise MeasuringFailed(
            f"{command.name} ended with {done.returncode} instead of {command.code}:"
            f" {done.stderr.decode('utf-8', 'replace')[-500:]}"
        )
    return took_s * 1000
