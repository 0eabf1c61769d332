"""The declared metrics, and the samples of one scrape.

A metric is declared next to the code that fills it, in a `Subject`: the metrics that share their
first labels.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

Kind = Literal["gauge", "counter", "info"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """One metric family; equal only to itself.

    Attributes:
        name: the scraped name, with `_total` or `_info`.
        explains: the help text: the meaning of a value.
        labels: their names, in order.
    """

    name: str
    explains: str
    labels: tuple[str, ...]
    kind: Kind = "gauge"


class Subject:
    """Declares metrics with a common prefix and common first labels.

    Attributes:
        metrics: the declared metrics, in order of declaration.
    """

    def __init__(self, prefix: str, *labels: str) -> None:
        self._prefix = prefix
        self._labels = labels
        self.metrics: list[Metric] = []

    def gauge(self, name: str, explains: str, *labels: str) -> Metric:
        """Declare a value that can increase and decrease; `labels` follow the subject's own."""
        return self._declare(name, explains, labels, "gauge")

    def counter(self, name: str, explains: str, *labels: str) -> Metric:
        """Declare a number that only increases; its name gets the suffix `_total`."""
        return self._declare(f"{name}_total", explains, labels, "counter")

    def info(self, name: str, explains: str, *labels: str) -> Metric:
        """Declare a metric whose labels carry the information; its name gets the suffix `_info`."""
        return self._declare(f"{name}_info", explains, labels, "info")

    def _declare(self, name: str, explains: str, labels: tuple[str, ...], kind: Kind) -> Metric:
        metric = Metric(
            name=f"{self._prefix}_{name}",
            explains=explains,
            labels=(*self._labels, *labels),
            kind=kind,
        )
        self.metrics.append(metric)
        return metric


class Exposition:
    """The samples of one scrape."""

    def __init__(self) -> None:
        self._samples: dict[Metric, dict[tuple[str, ...], float]] = {}

    def value(self, metric: Metric, value: float | None, *labels: object) -> None:
        """Set a value, or nothing for None (unknown); the same labels replace an earlier value.

        Raises:
            ValueError: the number of labels differs from the declared one.
        """
        if len(labels) != len(metric.labels):
            raise ValueError(f"{metric.name} has the labels {metric.labels}, not {labels}")
        if value is not None:
            self._samples.setdefault(metric, {})[tuple(map(str, labels))] = float(value)

    def time(self, metric: Metric, at_ms: int | None, *labels: object) -> None:
        """Set a time, given in ms since the epoch, as seconds."""
        self.value(metric, None if at_ms is None else at_ms / 1000, *labels)

    def state(
        self, metric: Metric, now: enum.StrEnum, every: type[enum.StrEnum], *labels: object
    ) -> None:
        """Set one sample for each value of a state: 1 for the current one, 0 for the others."""
        for each in every:
            self.value(metric, each is now, *labels, each)

    def families(self) -> Iterator[Family]:
        for metric, samples in self._samples.items():
            yield _family(metric, samples)


def _family(metric: Metric, samples: dict[tuple[str, ...], float]) -> Family:
    if metric.kind == "info":
        info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.explains)
        for labels in samples:
            info.add_metric([], dict(zip(metric.labels, labels, strict=True)))
        return info
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = make(metric.name, metric.explains, labels=metric.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family
