"""Maps a metric to its bean, for any naming rules of jmx_exporter. Pure.

The agent's own naming is `domain_type_attribute{name="..."}` (JmxCollector.defaultExport); the
rules that Apache Kafka, Confluent, Strimzi and Grafana publish fold type and name into the metric's
name, in lower case or not, and some keep them as labels. All keep the order domain, type, name. So
only letters and digits are compared, in lower case, with type and name taken from the labels `type`
and `name` if the metric's own name does not have them.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, NamedTuple

from migration.observed.jmx_names import JmxName

_OTHERS: Final = re.compile(r"[^a-z0-9]+")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CONTROLLER: Final = (("kafka.controller",), "KafkaController")
_BEANS: Final[Mapping[JmxName, tuple[tuple[str, ...], str]]] = {
    JmxName.ZK_MIGRATION_STATE: _CONTROLLER,
    JmxName.MIGRATING_ZK_BROKER_COUNT: _CONTROLLER,
    JmxName.ZK_WRITE_BEHIND_LAG: _CONTROLLER,
    JmxName.ACTIVE_CONTROLLER_COUNT: _CONTROLLER,
    JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS: (
        ("org.apache.kafka.server", "kafka.server"),
        "AssignmentsManager",
    ),
    JmxName.OFFLINE_LOG_DIRECTORY_COUNT: (("kafka.log",), "LogManager"),
}
"""By name, the domains and the type of a bean: `domain:type=...,name=...`, attribute `Value`.

A rule with `kafka.server<type=...` matches in the middle of `org.apache.kafka.server<type=...` too
(JmxCollector anchors no pattern).
"""


def _squashed(text: str) -> str:
    return _OTHERS.sub("", text.lower())


class _Form(NamedTuple):
    """The name of a bean's metric, and the values of its labels."""

    metric: str
    type: str | None
    name: str | None


def _forms() -> Iterator[tuple[_Form, JmxName]]:
    for bean, (domains, type_of) in _BEANS.items():
        type_, name = _squashed(type_of), _squashed(bean)
        for domain, attribute in product(map(_squashed, domains), ("", "value")):
            yield _Form(domain + type_ + name + attribute, None, None), bean
            yield _Form(domain + type_ + attribute, None, name), bean
            yield _Form(domain + name + attribute, type_, None), bean
            yield _Form(domain + attribute, type_, name), bean


_KNOWN: Final = dict(_forms())

_ANY_NAME: Final = "|".join(_WORDS.sub("_?", each) for each in JmxName)
"""A regular expression for the names, also in snake case."""
MAY_BE_KNOWN: Final = re.compile(_ANY_NAME.encode(), re.IGNORECASE)
"""Matches each line that may hold a bean's metric: a few of a broker's 100,000 lines."""
METRIC_PATTERN: Final = f"(?i).*({_ANY_NAME}).*"
"""The same for the names of metrics, in the syntax of PromQL: RE2, anchored."""
NAME_PATTERN: Final = f"(?i)({_ANY_NAME})"
"""The same for the label `name`."""


def recognise(metric: str, labels: Mapping[str, str]) -> JmxName | None:
    """Return the name of a metric's bean; None: it is not a bean that Kraftgate knows."""
    by_label = {_squashed(key): _squashed(value) for key, value in labels.items()}
    squashed, type_, name = _squashed(metric), by_label.get("type"), by_label.get("name")
    for form in (
        _Form(squashed, None, None),
        _Form(squashed, None, name),
        _Form(squashed, type_, None),
        _Form(squashed, type_, name),
    ):
        if form in _KNOWN:
            return _KNOWN[form]
    return None
