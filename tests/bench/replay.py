"""(a) `kraftgate replay PATH --json`, the whole process, against `kafka-dump-log` of the same file.

Before anything is timed, the records are counted on both sides (lines that kafka-dump-log prints;
records that `streams.wire` reads, and the last metadata offset that `replay` names) and the
replay's answer is held against the generator's oracle, broker by broker. The tool runs as its own
script runs it (kafka-run-class.sh: 256 MB of heap, G1), its output to /dev/null. An empty job
(`tests.bench.empty_job`) shows what of the start is Spark's own.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from orchestrator.lab.machine.jars import ensure_jars
from orchestrator.lab.machine.java import find_java
from streams.wire.batches import read_batches
from tests.bench.generate import Shape, generate
from tests.bench.measure import Cost, MeasuringFailed, measured
from tests.bench.oracle import differences
from tests.bench.result import Figure, say

TIMES_MAX: Final = 1.0
MEMORY_MB_MAX: Final = 4000.0
GROWTH_MAX: Final = 10.0
_DUMP_MAIN: Final = "kafka.tools.DumpLogSegments"
_DUMP_JVM: Final = ("-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
                    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
                    "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true")  # fmt: skip
_SMALLEST: Final = Shape(partitions=1, brokers=3, directories=1)
"""Its replay is little more than the start of Spark."""
_EMPTY_JOB: Final = (sys.executable, "-m", "tests.bench.empty_job")


@dataclass(frozen=True, slots=True)
class _Log:
    """A generated log and what its replay must print."""

    file: Path
    expected: dict[str, Any]


def tenth(shape: Shape) -> Shape:
    """The same cluster at a tenth of the size: partitions and brokers."""
    return Shape(
        partitions=max(1, shape.partitions // 10),
        brokers=max(3, shape.brokers // 10),
        directories=shape.directories,
        changes=shape.changes,
        seed=shape.seed,
    )


def dump_command(file: Path) -> list[str]:
    """kafka-dump-log of one file."""
    classpath = ensure_jars().classpath
    options = ["--cluster-metadata-decoder", "--files", str(file)]
    return [find_java(), *_DUMP_JVM, "-cp", classpath, _DUMP_MAIN, *options]


def printed_records(file: Path) -> int:
    """How many records kafka-dump-log prints.

    Raises:
        MeasuringFailed: it ended with an error, or doubts a batch.
    """
    with subprocess.Popen(
        dump_command(file), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdout is None:
            raise MeasuringFailed("kafka-dump-log has no output")
        count = 0
        for line in process.stdout:
            count += line.startswith(b"| offset: ")
            if b"isvalid: false" in line or line.startswith((b"Found", b"Could not")):
                raise MeasuringFailed(f"kafka-dump-log says: {line.decode().strip()}")
    if process.returncode != 0:
        raise MeasuringFailed(f"kafka-dump-log ended with {process.returncode}")
    return count


def run(shape: Shape, home: Path, kraftgate: Path, runs: int) -> list[Figure]:
    """Measure both sides in turn, `runs` times.

    Raises:
        MeasuringFailed: a side failed, or they do not agree on what the log holds.
    """
    logs = {
        name: _made(one, home / name)
        for name, one in (("full", shape), ("tenth", tenth(shape)), ("least", _SMALLEST))
    }
    for name, log in logs.items():
        _agree(name, log, kraftgate, home)
    ours: dict[str, list[Cost]] = {name: [] for name in logs}
    theirs: list[Cost] = []
    empty: list[Cost] = []
    for number in range(1, runs + 1):
        for name, log in logs.items():
            ours[name].append(measured(_replay(kraftgate, log), log=home / "replay.log"))
            if name == "full":
                theirs.append(measured(dump_command(log.file), log=home / "dump.log"))
        empty.append(measured(_EMPTY_JOB, log=home / "empty.log"))
        times = ", ".join(
            f"{name} {costs[-1].wall_s:.2f} s"
            for name, costs in {**ours, "empty job": empty, "kafka-dump-log": theirs}.items()
        )
        say(f"a: run {number}: {times}")
    return _figures(ours, theirs, empty, logs["full"].expected["records"])


def _made(shape: Shape, folder: Path) -> _Log:
    file, oracle, last = generate(shape, folder)
    return _Log(file, oracle.told(last))


def _replay(kraftgate: Path, log: _Log) -> list[str]:
    return [str(kraftgate), "replay", str(log.file.parent), "--json"]


def _agree(name: str, log: _Log, kraftgate: Path, home: Path) -> None:
    """Hold both sides' counts and the replay's whole answer against the oracle."""
    printed = printed_records(log.file)
    read = sum(each.count for each in read_batches(log.file.read_bytes(), file=log.file.name))
    answer = home / f"{name}.json"
    with answer.open("wb") as out:
        measured(_replay(kraftgate, log), stdout=out, log=home / "replay.log")
    said = json.loads(answer.read_bytes())
    counts = {
        "generated": log.expected["records"],
        "kafka-dump-log": printed,
        "streams.wire": read,
        "replay": said["metadata_offset"] + 1,
    }
    say(f"a: {name}: records {counts}")
    if len(set(counts.values())) != 1:
        raise MeasuringFailed(f"the sides do not agree on the number of records: {counts}")
    wrong = differences(log.expected, said)
    if wrong:
        raise MeasuringFailed(
            f"replay of the {name} log is wrong in {len(wrong)} places:\n" + "\n".join(wrong[:5])
        )


def _figures(
    ours: dict[str, list[Cost]], theirs: Sequence[Cost], empty: Sequence[Cost], records: int
) -> list[Figure]:
    full, small, least = (ours[name] for name in ("full", "tenth", "least"))

    def figure(name: str, unit: str, values: Sequence[float], **judged: Any) -> Figure:
        return Figure(part="a", name=name, unit=unit, runs=values, **judged)

    wall = [each.wall_s for each in full]
    small_wall = [each.wall_s for each in small]
    net = [one.cpu_s - base.cpu_s for one, base in zip(full, least, strict=True)]
    small_net = [one.cpu_s - base.cpu_s for one, base in zip(small, least, strict=True)]
    dump = [each.wall_s for each in theirs]
    return [
        figure("kafka-dump-log", "s", dump),
        figure("kafka-dump-log, CPU", "s", [each.cpu_s for each in theirs]),
        figure(
            f"replay of {records:,} records against it",
            "s",
            wall,
            compared_with=dump,
            bound=TIMES_MAX,
        ),
        figure("replay, CPU", "s", [each.cpu_s for each in full]),
        figure(
            "replay, PSS of all processes",
            "MB",
            [each.pss_mb for each in full],
            bound=MEMORY_MB_MAX,
            worst=True,
        ),
        figure("replay, RSS (shared pages more than once)", "MB", [each.rss_mb for each in full]),
        figure("replay of the least log: the start", "s", [each.wall_s for each in least]),
        figure("an empty job: the start of Spark", "s", [each.wall_s for each in empty]),
        figure("an empty job, PSS of all processes", "MB", [each.pss_mb for each in empty]),
        figure("replay of a tenth", "s", small_wall),
        figure("growth from a tenth", "s", wall, compared_with=small_wall, bound=GROWTH_MAX),
        figure("growth, CPU without the start", "s", net, compared_with=small_net),
    ]
