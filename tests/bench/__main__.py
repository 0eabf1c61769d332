"""The benchmark of everything that is promised in figures.

    python -m tests.bench [--runs 5] [--quick] [--only a,b,c,d,e,f,g,h,i,j,k,l]

a: replay against kafka-dump-log; b: the wire reader; c: latency; d: idle; e: latency up to the
console's pages; f: the page in a browser; g: the ETA; h: the report; i: log directory
notifications; j: commands; k: growth; l: many clusters. Each part checks that both sides did the
same work before it prints a ratio. The table goes to stdout, all runs and a plot of each figure to
bench-results/. Exit 1: a bound is exceeded (not with --quick, whose sizes prove nothing), or a part
could not be measured.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from orchestrator.lab import LabError
from tests.bench import (
    commands,
    console,
    eta,
    fleet,
    growth,
    idle,
    latency,
    notifications,
    page,
    replay,
    report,
    wire,
)
from tests.bench.generate import Shape, generate
from tests.bench.measure import MeasuringFailed
from tests.bench.plots import draw
from tests.bench.result import RUNS, Figure, save, say, table

PARTS: Final = "abcdefghijkl"
FULL: Final = Shape(partitions=200_000, brokers=300, directories=12)
MILLION: Final = Shape(partitions=1_000_000, brokers=300, directories=12)
QUICK: Final = Shape(partitions=5_000, brokers=30, directories=4)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--runs", type=int, help=f"of each side; {RUNS}, with --quick 2")
    parser.add_argument("--quick", action="store_true", help="small and short, to try it out")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, such as a,c")
    parser.add_argument("--minutes", type=float, help="of idling in part d; 2, with --quick 0.5")
    parser.add_argument(
        "--seconds", type=float, help="of one run of c, e and f; 20, with --quick 5"
    )
    parser.add_argument("--results", type=Path, default=Path("bench-results"))
    parser.add_argument(
        "--kraftgate",
        type=Path,
        default=Path(sys.executable).parent / "kraftgate",
        help="the program under test; the one beside this Python",
    )
    arguments = parser.parse_args(given)
    arguments.only = arguments.only.split(",")
    if not set(arguments.only) <= set(PARTS):
        parser.error(f"--only takes some of {', '.join(PARTS)}")
    quick = arguments.quick
    arguments.runs = arguments.runs or (2 if quick else RUNS)
    arguments.minutes = arguments.minutes or (0.5 if quick else 2.0)
    arguments.seconds = arguments.seconds or (5.0 if quick else 20.0)
    return arguments


def _parts(arguments: argparse.Namespace, home: Path) -> dict[str, Callable[[], list[Figure]]]:
    shape = QUICK if arguments.quick else FULL
    runs, kraftgate, quick = arguments.runs, arguments.kraftgate, arguments.quick

    def folder(name: str) -> Path:
        made = home / name
        made.mkdir()
        return made

    return {
        "a": lambda: replay.run(QUICK if quick else MILLION, folder("a"), kraftgate, runs),
        "b": lambda: wire.run(generate(shape, folder("b"))[0], runs),
        "c": lambda: latency.run(
            folder("c"), kraftgate, runs, arguments.seconds, may_be_late=quick
        ),
        "d": lambda: idle.run(folder("d"), kraftgate, runs, arguments.minutes),
        "e": lambda: console.run(
            folder("e"), kraftgate, runs, arguments.seconds, may_be_late=quick
        ),
        "f": lambda: page.run(
            folder("f"), kraftgate, runs, arguments.seconds, QUICK if quick else MILLION
        ),
        "g": lambda: eta.run(
            folder("g"),
            1 if arguments.quick else min(runs, eta.RUNS_MAX),
            eta.REPLICAS_QUICK if arguments.quick else eta.REPLICAS,
        ),
        "h": lambda: report.run(
            folder("h"), kraftgate, runs, report.SIZE_QUICK if quick else report.SIZE
        ),
        "i": lambda: notifications.run(
            folder("i"),
            kraftgate,
            runs,
            notifications.NUMBER_QUICK if arguments.quick else notifications.NUMBER,
        ),
        "k": lambda: growth.run(
            folder("k"), kraftgate, runs, growth.SIZES_QUICK if quick else growth.SIZES
        ),
        "l": lambda: fleet.run(
            folder("l"), kraftgate, runs, fleet.CLUSTERS_QUICK if quick else fleet.CLUSTERS
        ),
        "j": lambda: commands.run(
            folder("j"), kraftgate, runs, commands.SMALL if quick else MILLION
        ),
    }


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, write down, judge."""
    arguments = _arguments(given)
    figures: list[Figure] = []
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="kraftgate-bench-") as home:
        for name, measure in _parts(arguments, Path(home)).items():
            if name not in arguments.only:
                continue
            say(f"{name}: {arguments.runs} runs")
            try:
                figures += measure()
            except (MeasuringFailed, LabError, OSError) as error:
                failed[name] = str(error)
                say(f"{name}: not measured: {error}")
    shown = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in vars(arguments).items()
        if key not in ("kraftgate", "results")
    }
    path = save(figures, arguments.results, shown | {"not_measured": failed})
    draw(figures, path.with_suffix(""))
    sys.stdout.write(f"{table(figures)}\n")
    sys.stdout.writelines(f"{name}: not measured: {why}\n" for name, why in failed.items())
    say(f"written to {path}")
    over = any(each.within is False for each in figures) and not arguments.quick
    return 1 if over or failed else 0


if __name__ == "__main__":
    sys.exit(main())
