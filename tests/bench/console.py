"""(e) From a record's append on a controller to the change in the console's event stream.

As (c), but the effect is the arrival of the first event whose `metadata_offset` reaches the record,
at a page that reads the stream over loopback. tests/orchestrator/views/browser measures how a
browser renders it.
Both timestamps come from this machine's clock. It also measures the bytes sent to such a page.
"""

import http.client
import json
import re
import threading
import time
from bisect import bisect_left
from pathlib import Path
from typing import Final

from tests.bench.latency import (
    EFFECT_S_MAX,
    PARTITIONS,
    RATES,
    WARM_S,
    Load,
    collect,
    quantile,
)
from tests.bench.live import (
    CLUSTER,
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

P95_MS: Final = 2_000
"""Asked for up to the browser's changed bar."""
_AT: Final = re.compile(r"console at http://([\d.]+):(\d+)/")
_END_S_MAX: Final = 20.0


class _Page:
    """A page that reads the stream in its own thread.

    Attributes:
        arrivals: each received metadata offset and its arrival time (ms), both increasing.
        sent: bytes of each change.
    """

    def __init__(self, at: tuple[str, int]) -> None:
        self.arrivals: list[tuple[int, int]] = []
        self.sent: list[float] = []
        self._connection = http.client.HTTPConnection(*at, timeout=_END_S_MAX)
        self._connection.request("GET", "/api/stream")
        self._answer = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, name="page", daemon=True)
        self._thread.start()

    def reached(self) -> int:
        """Return the displayed metadata offset; -1 before the first event."""
        return self.arrivals[-1][0] if self.arrivals else -1

    def join(self) -> None:
        """Wait for the stream's end."""
        self._thread.join(_END_S_MAX)
        self._connection.close()

    def _read(self) -> None:
        for line in self._answer:
            if not line.startswith(b"data: "):
                continue
            now_ms = time.time_ns() // 1_000_000
            told = json.loads(line[6:])
            for each in told.get("clusters", ()):
                offset = each.get("head", {}).get("metadata_offset")
                if offset is not None and offset > self.reached():
                    self.arrivals.append((offset, now_ms))
                    self.sent.append(float(len(line)))


def run(
    home: Path, kraftgate: Path, runs: int, duration_s: float, *, may_be_late: bool
) -> list[Figure]:
    """Measure each rate `runs` times for `duration_s` seconds on one running Kraftgate.

    `may_be_late`: the rates need not be reached.

    Raises:
        MeasuringFailed: the lab, the load, Kraftgate or its console failed.
    """
    figures: list[Figure] = []
    listen = {"console": {"listen": "127.0.0.1:0"}}
    with controllers_only() as lab:
        log = controller_log(lab)
        log.news()
        with StubBroker(lab.controller_bootstrap, lab.cluster_id, lambda: log.end) as broker:
            with following(lab, home, kraftgate, listen) as follower:
                page = _Page(_address(follower))
                broker.create_topic(PARTITIONS)
                for rate in RATES:
                    load = Load(broker, rate, PARTITIONS, may_be_late=may_be_late)
                    load.run(WARM_S)
                    measured = [_run(load, log, page, duration_s) for _ in range(runs)]
                    figures += _figures(rate, measured)
            page.join()
    sent = sorted(page.sent)
    return [
        *figures,
        Figure(part="e", name="a change, median", unit="bytes", runs=[quantile(sent, 0.5)]),
    ]


def _run(load: Load, log: ControllerLog, page: _Page, duration_s: float) -> list[float]:
    """The latencies of one run's records in order of size, ms."""
    log.news()
    appended = load.run(duration_s)
    changes: list[tuple[int, int]] = []
    wait_until("the log's flush", lambda: collect(log, changes) >= appended, EFFECT_S_MAX)
    wait_until("the last change", lambda: page.reached() >= changes[-1][0], EFFECT_S_MAX)
    offsets = [offset for offset, _ in page.arrivals]
    found = sorted(
        page.arrivals[bisect_left(offsets, offset)][1] - moment for offset, moment in changes
    )
    say(f"e: p50 {quantile(found, 0.5)}, p95 {quantile(found, 0.95)}, max {found[-1]} ms")
    return [float(each) for each in found]


def _figures(rate: int, measured: list[list[float]]) -> list[Figure]:
    name = f"append to the page's stream, {rate}/s"
    return [
        Figure(part="e", name=f"{name}, p50", unit="ms", runs=[quantile(m, 0.5) for m in measured]),
        Figure(
            part="e",
            name=f"{name}, p95",
            unit="ms",
            runs=[quantile(m, 0.95) for m in measured],
            bound=P95_MS,
        ),
    ]


def _address(follower: Following) -> tuple[str, int]:
    told = _AT.search(follower.log.read_text("utf-8", "replace"))
    if told is None:
        raise MeasuringFailed(f"{CLUSTER}: kraftgate run names no console")
    return told[1], int(told[2])
