"""What a scrape of a look gives; every one is read by the strict parser of OpenMetrics."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest as plain
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from migration.assessment.alerts import NOTHING_STANDS, Standings
from orchestrator.alerts.sender import SenderStats
from orchestrator.config import parse_config
from orchestrator.config_models import ClusterEntry
from orchestrator.following import Snapshot
from orchestrator.metrics.board import Board, Look, Seen
from orchestrator.metrics.collector import LastLook
from tests.orchestrator.night import FIVE_MINUTES_MS, NOW_MS

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


def seen(one: Snapshot, text: str = CONFIG, **more: object) -> Seen:
    return Seen(entry=entry(text), snapshot=one, **more)  # type: ignore[arg-type]


def registry(
    *clusters: Seen,
    now_ms: int = NOW_MS,
    looked: bool = True,
    alerts: Standings = NOTHING_STANDS,
    receivers: Mapping[str, SenderStats] = MappingProxyType({}),
) -> CollectorRegistry:
    board = Board(parse_config(CONFIG, Path("kraftgate.yaml")))
    if looked:
        board.last = Look(at_ms=now_ms - 100, clusters=clusters)
    found = CollectorRegistry()
    found.register(
        LastLook(
            board, FIVE_MINUTES_MS, lambda: now_ms, lambda: {"prod": alerts}, lambda: receivers
        )
    )
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


def scrape(*clusters: Seen, now_ms: int = NOW_MS) -> Samples:
    return samples(written(registry(*clusters, now_ms=now_ms)))


def scraped(one: Snapshot, text: str = CONFIG, now_ms: int = NOW_MS, **more: object) -> Samples:
    return scrape(seen(one, text, **more), now_ms=now_ms)


def text_format(*clusters: Seen) -> str:
    """The same as Prometheus' own text format, which promtool reads."""
    return plain(registry(*clusters)).decode()


def with_summary(one: Snapshot, **changes: object) -> Snapshot:
    return replace(one, summary=replace(one.summary, **changes))  # type: ignore[arg-type]
