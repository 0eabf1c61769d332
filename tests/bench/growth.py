"""(k) How time and memory of `kraftgate replay` grow with the number of partitions."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.bench.generate import Shape, generate
from tests.bench.measure import Cost, measured
from tests.bench.result import Figure, say

SIZES: Final = (10_000, 100_000, 1_000_000, 3_000_000)
SIZES_QUICK: Final = (100, 1_000)


def run(home: Path, kraftgate: Path, runs: int, sizes: tuple[int, ...]) -> list[Figure]:
    """Replay a generated log of each size, `runs` times.

    Raises:
        MeasuringFailed: a replay failed.
    """
    found: dict[int, list[Cost]] = {}
    for size in sizes:
        folder = home / str(size)
        folder.mkdir()
        file, _, _ = generate(Shape(partitions=size, brokers=300, directories=12), folder)
        command = [str(kraftgate), "replay", str(file.parent), "--json"]
        found[size] = [measured(command, log=home / "replay.log") for _ in range(runs)]
        file.unlink()
        walls = ", ".join(f"{each.wall_s:.1f} s {each.pss_mb:.0f} MB" for each in found[size])
        say(f"k: {size:,} partitions: {walls}")
    return [
        *_over_sizes(found, "time", "s", lambda each: each.wall_s),
        *_over_sizes(found, "memory (PSS)", "MB", lambda each: each.pss_mb),
    ]


def _over_sizes(
    found: dict[int, list[Cost]], what: str, unit: str, pick: Callable[[Cost], float]
) -> list[Figure]:
    """Return a figure of each size, and the growth from the last but one to the last."""
    each_size = [
        Figure(
            part="k",
            name=f"{what} of a replay of {size:,} partitions",
            unit=unit,
            runs=list(map(pick, costs)),
            series=f"{what} of a replay",
            at=size,
            at_unit="partitions",
        )
        for size, costs in found.items()
    ]
    (before, base), (last, costs) = list(found.items())[-2:]
    growth = Figure(
        part="k",
        name=f"growth of the {what} from {before:,} to {last:,} partitions",
        unit=unit,
        runs=list(map(pick, costs)),
        compared_with=list(map(pick, base)),
        bound=last / before,
    )
    return [*each_size, growth]
