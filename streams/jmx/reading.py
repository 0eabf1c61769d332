"""What one look at a node's JMX numbers brought."""

from collections.abc import Mapping
from typing import NamedTuple

from migration.observed.jmx_names import JmxName


class Reading(NamedTuple):
    """A node's numbers.

    Attributes:
        node: its id.
        endpoint: who told.
        age_ms: how long ago they were read out of the node's process.
        numbers: those that are known.
    """

    node: int
    endpoint: str
    age_ms: int
    numbers: Mapping[JmxName, int]
