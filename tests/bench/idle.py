"""(d) What following costs when nothing happens but no-op records.

A broker in migration mode, ZooKeeper and a controller, which appends two no-op records a second;
all four sources observe them. CPU time is that of all processes of `kraftgate run`, those that
ended meanwhile included. Memory and the number of files are shown at both ends, so that a long run
(`--minutes 60`) shows whether they stay flat.
"""

import time
from pathlib import Path
from typing import Final

from migration.metadata.records import NoOp
from tests.bench.live import controller_log, following, four_sources, in_migration
from tests.bench.measure import MeasuringFailed, cpu_s, memory_mb, tree
from tests.bench.result import Figure, say

CPU_S_MAX: Final = 3.0
"""In a minute."""
MEMORY_MB_MAX: Final = 1000.0
_SETTLE_S: Final = 20.0


def run(home: Path, kraftgate: Path, runs: int, minutes: float) -> list[Figure]:
    """Measure `runs` windows that together last `minutes`.

    Raises:
        MeasuringFailed: something else than no-op records was appended, or Kraftgate ended.
    """
    window_s = minutes * 60 / runs
    spent: list[float] = []
    with in_migration() as lab, following(lab, home, kraftgate, four_sources(lab)) as follower:
        time.sleep(_SETTLE_S)
        log = controller_log(lab)
        log.news()
        memory, files = [_memory(follower.pid)], [_files(follower.state_dir)]
        no_ops = 0
        for number in range(1, runs + 1):
            used, began = cpu_s(tree(follower.pid)), time.monotonic()
            time.sleep(window_s)
            spent.append((cpu_s(tree(follower.pid)) - used) / (time.monotonic() - began) * 60)
            memory.append(_memory(follower.pid))
            files.append(_files(follower.state_dir))
            say(f"d: window {number}: {spent[-1]:.1f} s, {memory[-1]:.0f} MB, {files[-1]} files")
        for _, _, record in log.news():
            if not isinstance(record, NoOp):
                raise MeasuringFailed(f"not idle: the controller appended {record}")
            no_ops += 1
        if no_ops < minutes * 60:
            raise MeasuringFailed(f"only {no_ops} no-op records in {minutes} minutes")
    shown = f"no-op records only, {minutes:g} min"
    return [
        Figure(part="d", name=shown, unit="CPU s a minute", runs=spent, bound=CPU_S_MAX),
        Figure(part="d", name="PSS of all processes, at first", unit="MB", runs=memory[:1]),
        Figure(
            part="d",
            name="PSS of all processes, at last",
            unit="MB",
            runs=memory[-1:],
            bound=MEMORY_MB_MAX,
        ),
        Figure(part="d", name="files in the state directory, at first", unit="", runs=files[:1]),
        Figure(part="d", name="files in the state directory, at last", unit="", runs=files[-1:]),
    ]


def _memory(pid: int) -> float:
    return memory_mb(tree(pid))[0]


def _files(folder: Path) -> float:
    return float(sum(1 for each in folder.rglob("*") if each.is_file()))
