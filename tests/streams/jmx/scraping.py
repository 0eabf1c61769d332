"""Waiting for a real Prometheus to have scraped."""

import time

from streams.jmx.config import PrometheusServer
from streams.jmx.errors import NotMetrics
from streams.jmx.exposition import Reading
from streams.jmx.http import Http
from streams.jmx.prometheus import read_prometheus

_PATIENCE_S = 180.0


def scraped(server: PrometheusServer, http: Http, *, nodes: int) -> list[Reading]:
    """The numbers of so many nodes, as soon as they are there."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            found = read_prometheus(server, http)
        except NotMetrics:
            found = []
        if len(found) == nodes:
            return found
        assert time.monotonic() < deadline_s, found
        time.sleep(0.1)
