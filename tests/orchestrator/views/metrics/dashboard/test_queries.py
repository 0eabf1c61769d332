"""Every query, against a real Prometheus that scraped a tick with a value of every metric."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import CollectorRegistry, Metric, ProcessCollector, start_http_server
from prometheus_client.registry import Collector

from tests.orchestrator.notify.rules import RULES
from tests.orchestrator.views.metrics.dashboard.queries import Asked, queries
from tests.orchestrator.views.metrics.everything import RECEIVERS, everything
from tests.orchestrator.views.metrics.scraping import registry
from tests.support.polling import until
from tests.support.prometheus import Labels, ask, ask_range, running

pytestmark = pytest.mark.prometheus

EVERY: Final = tuple(queries("prod"))
SOMETIMES: Final = frozenset({"broker", "source", "blocks"})
"""Empty where they say nothing: a hazard, or an alert, that is about no single broker."""


class _Changing(Collector):
    """Reports one more event at each scrape."""

    def __init__(self) -> None:
        self._scrapes = 0

    def collect(self) -> Iterator[Metric]:
        self._scrapes += 1
        yield from registry(everything(self._scrapes), receivers=RECEIVERS).collect()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    shown = CollectorRegistry()
    shown.register(_Changing())
    ProcessCollector(namespace="kraftgate", registry=shown)
    server, thread = start_http_server(0, "127.0.0.1", shown)
    address = f"127.0.0.1:{server.server_port}"
    try:
        with running(folder, kraftgate=address, rules=RULES.read_text("utf-8")) as url:
            until(lambda: any(ask(url, "increase(kraftgate_events_total[15s])").values()))
            until(lambda: ask(url, 'ALERTS{alertname="KraftgateAssignmentStalled"}'))
            yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("asked", EVERY, ids=lambda asked: asked.where)
def test_a_query_gives_what_its_panel_shows(prometheus: str, asked: Asked) -> None:
    found: list[dict[str, str]] = []

    def is_answered() -> bool:
        # Right after a scrape that took too long, Prometheus has no sample.
        found[:] = [dict(labels) for labels in _answer(prometheus, asked)]
        return bool(found)

    until(is_answered, asked.expr)
    for label in asked.shows:
        told = [each.get(label, "") for each in found]
        assert all(told) or label in SOMETIMES, label
        assert any(told) or label == "source"  # that of an alert which takes minutes to fire
    if asked.shows:
        legends = {tuple(each.get(label) for label in asked.shows) for each in found}
        assert len(legends) == len(found), "two series have one name"


def _answer(url: str, asked: Asked) -> Iterator[Labels]:
    if asked.now:
        yield from ask(url, asked.expr)
    else:
        now_s = time.time()
        yield from ask_range(url, asked.expr, now_s - 30, now_s)
