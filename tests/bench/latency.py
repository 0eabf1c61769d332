"""(c) From a record's append on a controller to its effect in the store.

A stub broker has its replicas assigned at a steady rate, in at most ten requests a second. The
append is the record's own timestamp, which the controller sets; the effect is the commit of the
store's first batch that reaches the record's offset (table `batches`, whose clock is read right
before SQLite's COMMIT). Both clocks are this machine's.
"""

import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from migration.metadata.records import PartitionChange
from tests.bench.live import (
    ControllerLog,
    Following,
    controller_log,
    controllers_only,
    following,
    wait_until,
)
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say
from tests.bench.stub_broker import StubBroker

RATES: Final = (2, 10_000)
PARTITIONS: Final = 5_000
"""A controller refuses a topic of more than 9,999 at once."""
P50_MS: Final = {2: 200}
P95_MS: Final = {2: 400, 10_000: 700}
_REQUESTS_A_SECOND_MAX: Final = 10
WARM_S: Final = 10.0
WARM_S_QUICK: Final = 1.0
EFFECT_S_MAX: Final = 60.0
_RATE_SHORTFALL: Final = 0.1


class Load:
    """Assignments at a steady rate; each one moves a replica to its other directory."""

    def __init__(
        self, broker: StubBroker, rate: int, partitions: int, *, may_be_late: bool
    ) -> None:
        requests = min(rate, _REQUESTS_A_SECOND_MAX)
        self._period_s = 1 / requests
        self._each = rate // requests
        self._broker = broker
        self._partitions = partitions
        self._may_be_late = may_be_late
        self._next = 0
        self._directory = 0

    def run(self, duration_s: float) -> int:
        """Append for so long; how many records that made.

        Raises:
            MeasuringFailed: the rate was not reached, and must be.
        """
        count = 0
        began = time.monotonic()
        for turn in range(round(duration_s / self._period_s)):
            time.sleep(max(0.0, began + turn * self._period_s - time.monotonic()))
            self._broker.assign(range(self._next, self._next + self._each), self._directory)
            count += self._each
            self._next += self._each
            if self._next >= self._partitions:
                self._next = 0
                self._directory = 1 - self._directory
        took_s = time.monotonic() - began
        late = took_s > duration_s * (1 + _RATE_SHORTFALL) + self._period_s
        if late and not self._may_be_late:
            raise MeasuringFailed(
                f"the controller took {took_s:.1f} s for {duration_s:.1f} s of {count} records: "
                "the rate was not reached"
            )
        return count


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that so many are not above: nearest rank."""
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def run(
    home: Path, kraftgate: Path, runs: int, duration_s: float, *, may_be_late: bool
) -> list[Figure]:
    """Measure each rate `runs` times for `duration_s` seconds on one running Kraftgate.

    `may_be_late`: the rates need not be reached, and it is warm after a second.

    Raises:
        MeasuringFailed: the lab, the load or Kraftgate did not do as it should.
    """
    partitions = PARTITIONS
    figures: list[Figure] = []
    with controllers_only() as lab:
        log = controller_log(lab)
        log.news()
        address = lab.controller_bootstrap
        with (
            StubBroker(address, lab.cluster_id, lambda: log.end) as broker,
            following(lab, home, kraftgate) as follower,
        ):
            broker.create_topic(partitions)
            for rate in RATES:
                load = Load(broker, rate, partitions, may_be_late=may_be_late)
                load.run(WARM_S_QUICK if may_be_late else WARM_S)
                measured = [_run(load, log, follower, duration_s) for _ in range(runs)]
                for number, one in enumerate(measured, start=1):
                    p50, p95, most = quantile(one, 0.5), quantile(one, 0.95), one[-1]
                    say(f"c: {rate}/s run {number}: p50 {p50}, p95 {p95}, max {most} ms")
                figures += _figures(rate, measured)
    return figures


def _run(load: Load, log: ControllerLog, follower: Following, duration_s: float) -> list[float]:
    """The latencies of one run's records in order of size, ms."""
    log.news()
    appended = load.run(duration_s)
    changes: list[tuple[int, int]] = []
    wait_until("the log's flush", lambda: collect(log, changes) >= appended, EFFECT_S_MAX)
    last = changes[-1][0]
    wait_until("the last effect", lambda: follower.reached() >= last, EFFECT_S_MAX)
    batches = follower.batches()
    offsets = [offset for offset, _ in batches]
    if offsets[0] >= changes[0][0]:
        raise MeasuringFailed("the store no longer knows the run's first batches: shorten the run")
    if len(changes) != appended:
        raise MeasuringFailed(f"{appended} assignments made {len(changes)} records")
    return sorted(batches[bisect_left(offsets, offset)][1] - moment for offset, moment in changes)


def collect(log: ControllerLog, changes: list[tuple[int, int]]) -> int:
    """Take in the assignments that were appended since; how many there are by now."""
    changes += [
        (offset, moment)
        for offset, moment, record in log.news()
        if isinstance(record, PartitionChange)
    ]
    return len(changes)


def _figures(rate: int, measured: Sequence[Sequence[float]]) -> list[Figure]:
    def one(name: str, values: list[float], bound: float | None) -> Figure:
        name = f"append to effect, {rate} records/s, {name}"
        return Figure(part="c", name=name, unit="ms", runs=values, bound=bound)

    return [
        one("p50", [quantile(each, 0.5) for each in measured], P50_MS.get(rate)),
        one("p95", [quantile(each, 0.95) for each in measured], P95_MS.get(rate)),
        one("max", [each[-1] for each in measured], None),
    ]
