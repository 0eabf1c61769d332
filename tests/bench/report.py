"""(h) `kraftgate report` of a large window: 300 brokers and a million generated replicas.

The state directory has the real layout and generated contents: store, audit trail and two
transitions for each replica. The benchmark measures the whole command and the page that it writes.
"""

from pathlib import Path
from typing import Final

from tests.bench.measure import MeasuringFailed, measured
from tests.bench.result import Figure, say
from tests.orchestrator.views.report.big import big

SIZE: Final = (300, 3_400)
SIZE_QUICK: Final = (20, 40)
"""Brokers, and replicas of each."""


def run(home: Path, kraftgate: Path, runs: int, size: tuple[int, int]) -> list[Figure]:
    """Write the page `runs` times.

    Raises:
        MeasuringFailed: the command failed, or the page does not show every replica.
    """
    brokers, replicas = size
    made = big(home, brokers=brokers, replicas=replicas)
    out = home / "report.html"
    command = [str(kraftgate), "report", "--config", str(made.config), "--out", str(out)]
    found = []
    for _ in range(runs):
        found.append(measured(command, log=home / "report.log"))
        say(f"h: {found[-1].wall_s:.1f} s, {found[-1].pss_mb:.0f} MB")
    if out.read_text("utf-8").count(f'<td class="n">{replicas}</td>') < brokers:
        raise MeasuringFailed("the page does not show the number of assigned replicas")
    name = f"report of {brokers} brokers, {brokers * replicas:,} replicas"
    return [
        Figure(part="h", name=name, unit="s", runs=[each.wall_s for each in found]),
        Figure(part="h", name=f"{name}: PSS", unit="MB", runs=[each.pss_mb for each in found]),
        Figure(part="h", name="its page", unit="MB", runs=[out.stat().st_size / 10**6]),
    ]
