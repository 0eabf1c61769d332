"""(f) The console's page in a real Chromium: first paint, an update, and append to changed bar.

The first two use a cluster of 300 brokers with 12 directories each and a million partitions, served
by a separate process: a generated one that sends four changes a second, and the state directory of
a replayed log. First paint is the time
at which the brokers are visible, with empty caches. An update is the main thread's work from one
change to the next, in that thread's CPU time (`tdur` of Chromium's trace), so other load on this
machine does not count.

The last one uses a lab's controller, as in (c) and (e): from the record's own timestamp, which the
controller sets, to the frame in which the broker's bar counts it. All timestamps come from this
machine's clock.
"""

import contextlib
import json
import re
import statistics
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page

from tests.bench.commands import replayed
from tests.bench.generate import Shape
from tests.bench.latency import EFFECT_S_MAX, collect, quantile
from tests.bench.live import ControllerLog, controller_log, controllers_only, following, wait_until
from tests.bench.measure import MeasuringFailed
from tests.bench.result import Figure, say
from tests.bench.stub_broker import StubBroker
from tests.orchestrator.views.browser.desk import LAPTOP, chromium

FIRST_PAINT_MS: Final = 1_500
UPDATE_MS: Final = 50
BAR_P95_MS: Final = 2_000
VIEWS: Final = {
    "overview": "tr[data-broker]",
    "brokers": "tr[data-broker='300']",
    "directories": ".dense [data-broker='300'] path",
    "timeline": ".chart svg path",
}
_RATE: Final = 10
_UPDATES_S: Final = 10.0
_START_S_MAX: Final = 180.0
_URL: Final = re.compile(r"(http://[\d.]+:\d+)/")

_DRAWN = """selector => {
  const look = () => {
    if (!document.querySelector(selector)) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();  // the first task behind this frame
    port1.onmessage = () => { window.drawn_ms = performance.now(); };
    requestAnimationFrame(() => port2.postMessage(0));
  };
  look();
}"""

_MARKED = """(() => {
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (kind, listener, ...more) {
    const marked = kind !== "change" ? listener : event => {
      performance.mark("kraftgate-change");
      listener(event);
    };
    return listen.call(this, kind, marked, ...more);
  };
})()"""

_BAR = """(() => {
  window.shown = [];
  const note = () => {
    const bar = document.querySelector("tr[data-broker] .bar");
    const [, assigned] = /(\\d[\\d,]*) assigned/.exec(bar?.ariaLabel ?? "") ?? [];
    const counted = Number(assigned?.replace(",", "") ?? 0);
    if (counted === (window.shown.at(-1)?.[0] ?? 0)) return;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => window.shown.push([counted, Date.now()]);
    port2.postMessage(0);
  };
  const frame = () => { note(); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
})()"""


def run(home: Path, kraftgate: Path, runs: int, duration_s: float, shape: Shape) -> list[Figure]:
    """Measure all three; `shape`: of the log that is replayed.

    Raises:
        MeasuringFailed: the server, the page, the lab or Kraftgate failed.
    """
    config = replayed(home / "replay", kraftgate, replace(shape, brokers=300, directories=12))
    with config.open("a", encoding="utf-8") as file:
        file.write("console: {listen: '127.0.0.1:0'}\n")
    with chromium() as browser:
        with _served("--big", "--port", "0") as url:
            figures = [*_first_paint(browser, url, runs, "prod"), *_updates(browser, url)]
        with _served("--config", str(config)) as url:
            figures += _first_paint(browser, url, runs, "replay")
        return [*figures, *_bars(browser, home, kraftgate, runs, duration_s)]


@contextlib.contextmanager
def _served(*arguments: str) -> Iterator[str]:
    """`python -m tests.orchestrator.views.console.serve`; yields its address."""
    command = [sys.executable, "-m", "tests.orchestrator.views.console.serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = _URL.match(process.stdout.readline())
            if found is None:
                raise MeasuringFailed("the made-up cluster is not served")
            yield found[1]
        finally:
            process.terminate()


def _open(browser: Browser, url: str, view: str, script: str, cluster: str = "prod") -> Page:
    """Open a page with empty caches."""
    width, height = LAPTOP
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.add_init_script(script)
    page.goto(f"{url}/#/{cluster}/{view}")
    return page


def _first_paint(browser: Browser, url: str, runs: int, cluster: str) -> Iterator[Figure]:
    for view, selector in VIEWS.items():
        paint: list[float] = []
        drawn: list[float] = []
        for _ in range(runs):
            page = _open(browser, url, view, f"({_DRAWN})({json.dumps(selector)})", cluster)
            page.wait_for_function("() => window.drawn_ms", timeout=_START_S_MAX * 1000)
            drawn.append(page.evaluate("window.drawn_ms"))
            first = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paint.append(page.evaluate(first))
            page.context.close()
        say(f"f: {view}: first paint {paint}, its rows {drawn} ms")
        name = f"{view} of `{cluster}`, 300 x 12"
        yield Figure(part="f", name=f"{name}: first paint", unit="ms", runs=paint)
        yield Figure(
            part="f", name=f"{name}: all drawn", unit="ms", runs=drawn, bound=FIRST_PAINT_MS
        )


def _updates(browser: Browser, url: str) -> Iterator[Figure]:
    for view, selector in VIEWS.items():
        page = _open(browser, url, view, _MARKED)
        page.wait_for_selector(selector, state="attached")
        page.wait_for_timeout(2_000)
        browser.start_tracing(
            page=page, categories=["toplevel", "blink.user_timing", "devtools.timeline"]
        )
        page.wait_for_timeout(_UPDATES_S * 1000)
        found = _main_thread_ms(json.loads(browser.stop_tracing())["traceEvents"])
        page.context.close()
        if len(found) < _UPDATES_S:
            raise MeasuringFailed(f"{view}: only {len(found)} changes came in {_UPDATES_S} s")
        say(
            f"f: {view}: {len(found)} updates, {statistics.median(found):.1f} ms, most {max(found)}"
        )
        yield Figure(
            part="f",
            name=f"{view}, 300 x 12: an update's main-thread time",
            unit="ms",
            runs=sorted(found),
            bound=UPDATE_MS,
            worst=True,
        )


def _main_thread_ms(events: Sequence[dict[str, Any]]) -> list[float]:
    """Return the CPU time of the page's main thread from each change to the next."""
    marks = [each for each in events if each["name"] == "kraftgate-change"]
    if not marks:
        raise MeasuringFailed("no change came")
    thread = (marks[0]["pid"], marks[0]["tid"])
    starts = sorted(float(each["ts"]) for each in marks)
    worked = [0.0] * len(starts)
    for each in events:
        if (each["pid"], each["tid"]) != thread or not each["name"].endswith("RunTask"):
            continue
        # The task in which the change arrives begins before its mark.
        end = float(each["ts"]) + float(each.get("dur", 0))
        at = bisect_left(starts, end) - 1
        if at >= 0:
            worked[at] += float(each.get("tdur", 0)) / 1000
    return worked[:-1]


def _bars(
    browser: Browser, home: Path, kraftgate: Path, runs: int, duration_s: float
) -> list[Figure]:
    listen = {"console": {"listen": "127.0.0.1:0"}}
    count = round(duration_s) * _RATE
    measured: list[list[float]] = []
    with controllers_only() as lab:
        log = controller_log(lab)
        log.news()
        with (
            StubBroker(lab.controller_bootstrap, lab.cluster_id, lambda: log.end) as broker,
            following(lab, home, kraftgate, listen) as follower,
        ):
            broker.create_topic(runs * count)
            found = _URL.search(follower.log.read_text("utf-8", "replace"))
            if found is None:
                raise MeasuringFailed("kraftgate run names no console")
            page = _open(browser, found[1], "brokers", _BAR)
            page.wait_for_selector("tr[data-broker] .bar .fill")
            for number in range(runs):
                measured.append(_run(page, broker, log, number * count, count))
            page.context.close()
    return [
        Figure(
            part="f",
            name=f"append to the browser's bar, {_RATE}/s, {name}",
            unit="ms",
            runs=[quantile(each, share) for each in measured],
            bound=BAR_P95_MS if share == 0.95 else None,
        )
        for name, share in (("p50", 0.5), ("p95", 0.95))
    ]


def _run(
    page: Page, broker: StubBroker, log: ControllerLog, before: int, count: int
) -> list[float]:
    """Latencies in order of size, ms: each replica gets its directory, one after the other."""
    log.news()
    began_s = time.monotonic()
    for at in range(count):
        page.wait_for_timeout(max(0.0, began_s + at / _RATE - time.monotonic()) * 1000)
        broker.assign([before + at], 0)
    changes: list[tuple[int, int]] = []
    wait_until("the log's flush", lambda: collect(log, changes) >= count, EFFECT_S_MAX)
    wanted = "wanted => (window.shown.at(-1)?.[0] ?? 0) >= wanted"
    page.wait_for_function(wanted, arg=before + count, timeout=EFFECT_S_MAX * 1000)
    shown = page.evaluate("window.shown")
    counts = [each for each, _ in shown]
    found = sorted(
        float(shown[bisect_left(counts, before + at)][1] - moment)
        for at, (_, moment) in enumerate(changes, start=1)
    )
    say(f"f: bar: p50 {quantile(found, 0.5)}, p95 {quantile(found, 0.95)}, max {found[-1]} ms")
    return found
