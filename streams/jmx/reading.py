"""The result of one request for a node's JMX numbers."""

from collections.abc import Mapping
from typing import NamedTuple

from migration.observed.jmx_names import JmxName


class Reading(NamedTuple):
    """A node's numbers.

    Attributes:
        node: its id.
        endpoint: the source of the numbers.
        age_ms: the time since they were read in the node's process.
        numbers: those that are known.
    """

    node: int
    endpoint: str
    age_ms: int
    numbers: Mapping[JmxName, int]
