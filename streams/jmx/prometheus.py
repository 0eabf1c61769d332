"""Reads the nodes' numbers from the Prometheus that scrapes them.

It requests ranges, not instants: an instant may be a sample of five minutes ago with the time of
the query, a range has the samples with the time of their scrape.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from migration.observed.jmx_names import JmxName
from migration.values.foreign import INT32_MAX, Unreadable, load_object, whole
from migration.values.timestamps import LATEST_MS
from streams.jmx.beans import METRIC_PATTERN, NAME_PATTERN, recognise
from streams.jmx.config import PrometheusServer
from streams.jmx.errors import NotMetrics, Unreachable
from streams.jmx.exposition import Reading, settled
from streams.jmx.http import BODY_BYTES_MAX, Http

LOOK_BACK_S: Final = 120
"""A node whose last scrape is older is unknown."""
REQUESTS: Final = 3
"""The requests of one reading; each is sent after the answer to the previous one."""
_METRIC: Final = "__name__"


class _Series(BaseModel):
    """One series of a matrix: `values` are pairs of a time, seconds since 1970, and a number."""

    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Matrix(BaseModel):
    result: list[_Series]


class _Sample(NamedTuple):
    node: int
    instance: str
    job: str
    at_s: float
    name: JmxName
    value: float

    @property
    def target(self) -> tuple[str, str]:
        """Identifies one exporter in one job of Prometheus."""
        return self.job, self.instance


def read_prometheus(server: PrometheusServer, http: Http) -> list[Reading]:
    """Return every node's latest numbers, in the order of their ids.

    Raises:
        JmxError: Prometheus does not answer, refuses, or has none of the beans.
    """
    now_s = _now_s(server, http)
    found = [
        sample
        for pattern in (f'{_METRIC}=~"{METRIC_PATTERN}"', f'name=~"{NAME_PATTERN}"')
        for series in _matrix(server, http, pattern, now_s)
        if (sample := _sample(server, series)) is not None
    ]
    if not found:
        labels = ", ".join(f'{each}="{value}"' for each, value in server.labels.items())
        raise NotMetrics(
            f"{server.url} has had no bean that Kraftgate knows, of a node that it can identify,"
            f" for {LOOK_BACK_S} s among the series with {{{labels}}}"
        )
    return list(_readings(found, now_s))


def _readings(found: Iterable[_Sample], now_s: float) -> Iterator[Reading]:
    """Yield each node's reading; its age is that of its oldest number.

    All samples of one scrape have the same time. Several jobs may scrape a node, each for some
    beans: a bean exists if the last scrape of its own job has it.
    """
    by_node: dict[int, list[_Sample]] = {}
    for each in found:
        by_node.setdefault(each.node, []).append(each)
    for node, samples in sorted(by_node.items()):
        ordered = sorted(samples, key=lambda sample: sample.at_s)
        scraped_s = {each.target: each.at_s for each in ordered}
        current = [each for each in ordered if each.at_s == scraped_s[each.target]]
        bean_s = {each.name: each.at_s for each in current}
        latest = [each for each in current if each.at_s == bean_s[each.name]]
        yield Reading(
            node=node,
            endpoint=current[-1].instance,
            age_ms=max(0, round((now_s - latest[0].at_s) * 1000)),
            numbers=settled((each.name, each.value) for each in latest),
        )


def _now_s(server: PrometheusServer, http: Http) -> float:
    """Return Prometheus' own time, so that the samples' ages are independent of the local clock."""
    data = answer(server.url, http, {"query": "time()"})
    result = data.get("result")
    if not isinstance(result, list) or len(result) != 2 or not isinstance(result[0], float | int):
        raise NotMetrics(f"{server.url} does not report its time")
    if not _is_moment(result[0]):
        raise NotMetrics(f"{server.url} reports {result[0]:g} s as its time")
    return float(result[0])


def _is_moment(at_s: float) -> bool:
    return abs(at_s) <= LATEST_MS / 1000


def _matrix(server: PrometheusServer, http: Http, pattern: str, now_s: float) -> list[_Series]:
    selector = ", ".join([pattern, *(f"{k}={json.dumps(v)}" for k, v in server.labels.items())])
    query = {"query": f"{{{selector}}}[{LOOK_BACK_S}s]", "time": f"{now_s:.3f}"}
    data = answer(server.url, http, query)
    try:
        return _Matrix.model_validate(data).result
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise NotMetrics(f"the answer of {server.url} is not a matrix: {why}") from error


def answer(url: str, http: Http, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a Prometheus' answer to a query: `resultType` and `result`.

    Raises:
        JmxError: it does not answer, refuses the query, or is not a Prometheus.
    """
    body = http.body(f"{url}/api/v1/query", query)
    try:
        found = load_object(body, bytes_max=BODY_BYTES_MAX)
    except Unreadable as error:
        raise NotMetrics(f"{url} is not a Prometheus server: {error}") from error
    if found.get("status") == "error":
        raise Unreachable(f"{url} refuses the query: {found.get('error')}")
    data = found.get("data")
    if not isinstance(data, dict):
        raise NotMetrics(f"{url} is not a Prometheus server: its answer has no data")
    return data


def _sample(server: PrometheusServer, series: _Series) -> _Sample | None:
    """Return the latest sample of a series; None: its bean or its node is unknown."""
    labels = series.metric
    name = recognise(labels.get(_METRIC, ""), labels)
    node = _node(server, labels)
    if name is None or node is None or not series.values:
        return None
    at_s, value = series.values[-1]
    if not _is_moment(at_s):
        return None
    instance, job = labels.get("instance", server.url), labels.get("job", "")
    return _Sample(node, instance, job, at_s, name, number(value))


def number(value: str) -> float:
    """Return a sample's number; NaN, which no bean has, if it is not a number."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _node(server: PrometheusServer, labels: Mapping[str, str]) -> int | None:
    if server.node_label is None:
        return server.instances.get(labels.get("instance", ""))
    try:
        return whole(labels.get(server.node_label, ""), "id", 0, INT32_MAX)
    except Unreadable:
        return None
