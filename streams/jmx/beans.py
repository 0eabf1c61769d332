"""Maps a metric to its bean, for any naming rules of jmx_exporter. Pure.

The agent's own naming is `domain_type_attribute{name="..."}` (JmxCollector.defaultExport); the
rules that Apache Kafka, Confluent, Strimzi and Grafana publish fold type and name into the metric's
name, in lower case or not, and some keep them as labels. All keep the order domain, type, name. So
only letters and digits are compared, in lower case, with type and name taken from the labels `type`
and `name` if the metric's own name does not have them.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from migration.observed.jmx_names import JmxName

_OTHERS: Final = re.compile(r"[^a-z0-9]+")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Bean(NamedTuple):
    """The bean of a number: `domain:type=...,name=...`, attribute `Value`.

    Attributes:
        domains: a rule with `kafka.server<type=...` matches in the middle of
            `org.apache.kafka.server<type=...` too (JmxCollector anchors no pattern).
    """

    domains: tuple[str, ...]
    type: str
    name: JmxName


_CONTROLLER: Final = ("kafka.controller",)
_BEANS: Final = (
    Bean(_CONTROLLER, "KafkaController", JmxName.ZK_MIGRATION_STATE),
    Bean(_CONTROLLER, "KafkaController", JmxName.MIGRATING_ZK_BROKER_COUNT),
    Bean(_CONTROLLER, "KafkaController", JmxName.ZK_WRITE_BEHIND_LAG),
    Bean(_CONTROLLER, "KafkaController", JmxName.ACTIVE_CONTROLLER_COUNT),
    Bean(
        ("org.apache.kafka.server", "kafka.server"),
        "AssignmentsManager",
        JmxName.QUEUED_REPLICA_TO_DIR_ASSIGNMENTS,
    ),
    Bean(("kafka.log",), "LogManager", JmxName.OFFLINE_LOG_DIRECTORY_COUNT),
)


def _squashed(text: str) -> str:
    return _OTHERS.sub("", text.lower())


class _Form(NamedTuple):
    """The name of a bean's metric, and the values of its labels."""

    metric: str
    type: str | None
    name: str | None


def _forms(bean: Bean) -> dict[_Form, JmxName]:
    type_, name = _squashed(bean.type), _squashed(bean.name)
    found = {}
    for domain in map(_squashed, bean.domains):
        for attribute in ("", "value"):
            for in_metric, labels in (
                (type_ + name, (None, None)),
                (type_, (None, name)),
                (name, (type_, None)),
                ("", (type_, name)),
            ):
                found[_Form(domain + in_metric + attribute, *labels)] = bean.name
    return found


_KNOWN: Final = {form: name for bean in _BEANS for form, name in _forms(bean).items()}

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
