"""What a scrape of a tick gives; every one is read by the strict parser of OpenMetrics."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest as plain
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from orchestrator.config.load import parse_config
from orchestrator.config.models import ClusterEntry
from orchestrator.notify.sender import SenderStats
from orchestrator.run.assessed import Assessed, Tick
from orchestrator.run.reader import ClusterRead
from orchestrator.views.metrics.collector import LastTick
from tests.scenes.night import NOW_MS
from tests.support.assessing import assessed

CONFIG = """cluster: {name: prod}
zookeeper: {connect: 'z1:2181'}
controllers: {bootstrap: 'c1:9093'}
brokers: {bootstrap: 'b1:9092'}
metrics: {}
"""
Samples = Mapping[str, Mapping[tuple[str, ...], float]]
"""By name, then by the labels' values in the order of their names, the cluster's left out."""


def entry(text: str = CONFIG) -> ClusterEntry:
    return parse_config(text, Path("kraftgate.yaml")).clusters[0]


def seen(one: ClusterRead, text: str = CONFIG, now_ms: int = NOW_MS, **more: object) -> Assessed:
    return assessed(one, now_ms, of=entry(text), **more)  # type: ignore[arg-type]


def registry(
    *clusters: Assessed,
    ticked: bool = True,
    receivers: Mapping[str, SenderStats] = MappingProxyType({}),
) -> CollectorRegistry:
    last = Tick(at_ms=NOW_MS, clusters=clusters) if ticked else None
    found = CollectorRegistry()
    found.register(LastTick(lambda: last, lambda: receivers))
    return found


def samples(text: str) -> Samples:
    """Read the exposition of one cluster.

    Raises:
        ValueError: it is not OpenMetrics.
    """
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        assert family.documentation
        for sample in family.samples:
            labels = sorted(sample.labels.items())
            at = tuple(value for name, value in labels if name != "cluster")
            of_name = found.setdefault(sample.name, {})
            assert at not in of_name, f"{sample.name} {labels} is there twice"
            of_name[at] = sample.value
    return found


def written(of: CollectorRegistry) -> str:
    """As OpenMetrics."""
    text: bytes = generate_latest(of)  # type: ignore[no-untyped-call]
    return text.decode()


def scrape(*clusters: Assessed) -> Samples:
    return samples(written(registry(*clusters)))


def scraped(one: ClusterRead, text: str = CONFIG, now_ms: int = NOW_MS, **more: object) -> Samples:
    return scrape(seen(one, text, now_ms, **more))


def text_format(*clusters: Assessed) -> str:
    """The same as Prometheus' own text format, which promtool reads."""
    return plain(registry(*clusters)).decode()


def with_summary(one: ClusterRead, **changes: object) -> ClusterRead:
    return replace(one, summary=replace(one.summary, **changes))  # type: ignore[arg-type]
