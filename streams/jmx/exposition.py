"""Parses a node's metrics in Prometheus' text format into the beans' numbers. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from migration.observed.jmx_names import JmxName
from streams.jmx.beans import MAY_BE_KNOWN, recognise
from streams.jmx.errors import NotMetrics


class Reading(NamedTuple):
    """The known numbers of a node.

    Attributes:
        endpoint: the source of the numbers.
        age_ms: the time since they were read in the node's process.
    """

    node: int
    endpoint: str
    age_ms: int
    numbers: Mapping[JmxName, int]


def numbers_in(lines: Iterable[bytes], where: str) -> dict[JmxName, int]:
    """Return the numbers of those beans in the lines that Kraftgate knows.

    Raises:
        NotMetrics: a line that names a bean is not in the text format, or no line names one. Its
            message begins with `where`.
    """
    of_beans = [each for each in lines if MAY_BE_KNOWN.search(each) and not each.startswith(b"#")]
    text = b"\n".join([*of_beans, b""])
    try:
        samples = [
            (found, sample.value)
            for family in text_string_to_metric_families(text.decode("utf-8"))
            for sample in family.samples
            if (found := recognise(sample.name, sample.labels)) is not None
        ]
    except ValueError as error:
        raise NotMetrics(f"{where} does not serve Prometheus' text format: {error}") from error
    if not samples:
        raise NotMetrics(
            f"{where} serves no bean that Kraftgate knows, such as {JmxName.ZK_MIGRATION_STATE}:"
            " is it Kafka's jmx_exporter, and do its rules let kafka.controller, kafka.log and"
            " org.apache.kafka.server through?"
        )
    return settled(samples)


def settled(samples: Iterable[tuple[JmxName, float]]) -> dict[JmxName, int]:
    """Return each bean's number; invalid ones are left out, the others are not affected.

    A number is invalid if it is not whole, does not fit the bean's type, or has two values.

    >>> settled([(JmxName.ZK_MIGRATION_STATE, 1.0), (JmxName.ZK_WRITE_BEHIND_LAG, 1e300)])
    {<JmxName.ZK_MIGRATION_STATE: 'ZkMigrationState'>: 1}
    """
    found: dict[JmxName, set[float]] = {}
    for name, value in samples:
        found.setdefault(name, set()).add(value)
    return {
        name: int(value)
        for name, values in found.items()
        for value in values
        if len(values) == 1 and _fits(name, value)
    }


def _fits(name: JmxName, value: float) -> bool:
    # The first comparison is false for NaN, and for an int that no float can represent.
    return -name.largest - 1 <= value <= name.largest and value == int(value)


def in_order(numbers: Mapping[JmxName, int]) -> tuple[tuple[str, int], ...]:
    """Return the numbers in the form of a fact."""
    return tuple((str(each), numbers[each]) for each in JmxName if each in numbers)
