"""(g) The estimated duration of a broker's hold against the actual one, on a real migration.

A lab's one broker, with thousands of replicas in two directories, repeatedly migrates from
ZooKeeper to KRaft mode and back: at Kafka's own speed, where all replicas are assigned almost at
once, and with a controller that pauses for random times after the first assignments, so that it
takes long enough for an operator to read the estimate. The job's own functions then follow the
controller's log. At every refresh of a screen (four a second) and at every batch of the log, the
estimate is compared with the time at which the last replica got its directory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from migration.assessment.eta import LEVEL, Estimate
from migration.image.summary import ClusterSummary
from migration.observed.source_status import SourceStatus
from streams.metadata.offsets import StreamOffset
from streams.metadata.plan import Slice
from tests.bench.eta_migration import BROKER, Round, rounds
from tests.bench.latency import quantile
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say
from tests.support.assessing import etas
from tests.support.pipeline import Run

REPLICAS: Final = 13_500
"""Six full requests. Each is an open file, of which a process may often have 20,000 at most."""
REPLICAS_QUICK: Final = 9_000
RUNS_MAX: Final = 3
_LOOK_MS: Final = 250
_STALL_MS: Final = 300_000
_COVERAGE: Final = LEVEL - 0.1
"""Rounds are few, and their estimates depend on each other."""


@dataclass
class _Followed(Run):
    """The job without Spark, and its state after each batch of the log."""

    known: list[ClusterSummary] = field(default_factory=list)

    def _batch(self, parts: Sequence[Slice], end: StreamOffset) -> None:
        super()._batch(parts, end)
        self.known.append(self.summary)


@dataclass(frozen=True, slots=True)
class Told:
    """One estimate and the actual remaining time, in seconds."""

    estimate: Estimate
    took_s: float

    @property
    def error_s(self) -> float:
        """Return the error."""
        return abs(self.estimate.seconds - self.took_s)

    @property
    def relative(self) -> float:
        """Return the error as a share of the actual time."""
        return self.error_s / self.took_s

    @property
    def holds(self) -> bool:
        """Whether the interval contains the actual time."""
        return self.estimate.low <= self.took_s <= self.estimate.high


def told(log: Path) -> list[Told]:
    """Return all estimates that screens could show for the broker's hold in this log.

    Raises:
        MeasuringFailed: the broker was not held, or its assignments were not complete.
    """
    job = _Followed()
    job.follow(log, 1)
    known = job.known
    broker = {each.id: each for each in known[-1].brokers}.get(BROKER)
    if broker is None or broker.assignments_complete_ms is None:
        raise MeasuringFailed("the broker's assignments were not complete")
    end_ms = broker.assignments_complete_ms
    held = [each for each in known if each.observed_ms is not None and _is_held(each)]
    moments = {each.observed_ms or 0 for each in held}
    if not moments:
        raise MeasuringFailed("the broker was never seen held")
    moments |= set(range(min(moments), end_ms, _LOOK_MS))
    found = []
    for at_ms in sorted(moment for moment in moments if moment < end_ms):
        latest = [each for each in held if (each.observed_ms or 0) <= at_ms][-1]
        source = SourceStatus(observed_ms=at_ms, finished=True, log=latest.metadata_log)
        one = etas(latest, source, at_ms, _STALL_MS).get(BROKER)
        if isinstance(one, Estimate):
            found.append(Told(one, (end_ms - at_ms) / 1000))
    return found


def _is_held(summary: ClusterSummary) -> bool:
    return any(each.id == BROKER and each.held for each in summary.brokers)


def run(home: Path, runs: int, replicas: int) -> list[Figure]:
    """Measure `runs` rounds of each kind.

    Raises:
        MeasuringFailed: a round failed, or gave no estimate.
        LabError: the lab failed.
    """
    by_kind: dict[str, list[list[Told]]] = {}
    lasted: dict[str, list[float]] = {}
    for one in rounds(home, runs, replicas):
        found = told(one.log)
        lasted.setdefault(one.kind, []).append(one.assigning_s)
        by_kind.setdefault(one.kind, []).append(found)
        say(f"g: {one.kind}: {_words(one, found)}")
    if not any(any(each) for each in by_kind.values()):
        raise MeasuringFailed("no round gave an estimate: more replicas are needed")
    return [each for kind in by_kind for each in _figures(kind, by_kind[kind], lasted[kind])]


def _words(one: Round, found: Sequence[Told]) -> str:
    took = f"held {one.held_s:.1f} s, assigned within {one.assigning_s:.2f} s of it"
    if not found:
        return f"{took}, no estimate"
    holds = sum(each.holds for each in found)
    off = median(each.relative for each in found)
    return f"{took}, {len(found)} estimates, {holds} held, off by {off:.0%} (median)"


def _figures(kind: str, rounds: Sequence[Sequence[Told]], lasted: Sequence[float]) -> list[Figure]:
    every = [each for each in rounds if each]

    def figure(name: str, unit: str, values: Sequence[float], **judged: object) -> Figure:
        return Figure(part="g", name=f"ETA, {kind}: {name}", unit=unit, runs=values, **judged)  # type: ignore[arg-type]

    found = [figure("from the first assignment to the last", "s", lasted)]
    found.append(
        figure("estimates that were to be seen", "", [float(len(each)) for each in rounds])
    )
    if not every:
        return found

    def error(share: float, name: str) -> list[float]:
        return [quantile(sorted(getattr(each, name) for each in one), share) for one in every]

    whole = [each for one in every for each in one]
    held = sum(each.holds for each in whole) / len(whole)
    return [
        *found,
        figure("error, median", "s", error(0.5, "error_s")),
        figure("error, p90", "s", error(0.9, "error_s")),
        figure("error of what it took, median", "", error(0.5, "relative")),
        figure("error of what it took, p90", "", error(0.9, "relative")),
        figure("intervals that held", "", [held], bound=_COVERAGE, at_least=True),
    ]
