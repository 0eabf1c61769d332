"""A cluster as it was read becomes one that was assessed, as the run loop does it."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from migration.assessment.assess import assess
from migration.assessment.currency import log_currency
from migration.assessment.data_source import DataSource
from migration.assessment.eta import Eta
from migration.assessment.eta import etas as etas_by_currency
from migration.assessment.polled import NOT_POLLED, Polled
from migration.assessment.waits import Wait
from migration.assessment.waits import waits as waits_by_currency
from migration.image.summary import ClusterSummary
from migration.observed.source_status import SourceStatus
from orchestrator.config.load import parse_config
from orchestrator.config.models import ClusterEntry
from orchestrator.run.assessed import Assessed, Tick, snapshot_of
from orchestrator.run.reader import ClusterRead, Tally

STALL_AFTER_MS = 300_000
ALL_SOURCES = """
cluster: {name: prod}
controllers: {bootstrap: "c1:9093"}
zookeeper: {connect: "zk1:2181"}
brokers: {bootstrap: "b1:9092"}
jmx: {exporters: {"1": "http://b1:7071/metrics"}}
state_dir: state
"""


def entry(*sources: str, name: str = "prod", **changes: Any) -> ClusterEntry:
    """A cluster with these sources configured; none named: all of them."""
    one = _everything()
    keys = ("controllers", "zookeeper", "brokers", "jmx")
    without = {key: None for key in keys if sources and key not in sources}
    return one.model_copy(update={"name": name, **without, **changes})


@cache
def _everything() -> ClusterEntry:
    return parse_config(ALL_SOURCES, Path("kraftgate.yaml")).clusters[0]


def assessed(
    read: ClusterRead,
    now_ms: int,
    *,
    of: ClusterEntry | None = None,
    stall_after_ms: int = STALL_AFTER_MS,
    not_followed: str | None = None,
    polled: Polled = NOT_POLLED,
    tally: Tally | None = None,
) -> Assessed:
    """Assess one read; `of`: the cluster's configuration, every source that reported by default."""
    if of is None:
        keys = zip(
            ("controllers", "zookeeper", "brokers", "jmx"), read.sources.values(), strict=True
        )
        named = [key for key, status in keys if status.observed_ms]
        of = entry(*named, name=read.summary.cluster)
    read = read if tally is None else replace(read, tally=tally)
    snapshot = replace(
        snapshot_of(of, read, now_ms, stall_after_ms=stall_after_ms),
        not_followed=not_followed,
        polled=polled,
    )
    return Assessed(entry=of, read=read, assessment=assess(snapshot))


def tick(reads: Iterable[ClusterRead], now_ms: int, **given: Any) -> Tick:
    """Assess every read."""
    return Tick(at_ms=now_ms, clusters=tuple(assessed(each, now_ms, **given) for each in reads))


def named(read: ClusterRead, name: str) -> ClusterRead:
    """The same of a cluster of another name."""
    return replace(read, summary=replace(read.summary, cluster=name))


def waits(
    summary: ClusterSummary, status: SourceStatus, now_ms: int, stall_after_ms: int
) -> tuple[Wait, ...]:
    """The waits by what the metadata log's source reports."""
    log = log_currency(summary, status, now_ms)
    sources = {DataSource.METADATA_LOG: log}
    return waits_by_currency(summary, sources, now_ms, summary.stalled(now_ms, stall_after_ms))


def etas(
    summary: ClusterSummary, status: SourceStatus, now_ms: int, stall_after_ms: int
) -> dict[int, Eta]:
    """The estimates by what the metadata log's source reports."""
    log = log_currency(summary, status, now_ms)
    return etas_by_currency(summary, log, now_ms, summary.stalled(now_ms, stall_after_ms))
