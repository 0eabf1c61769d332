"""A listener from a Spark option: where to ask, which cluster it must be, how it is secured."""

import json
from typing import NamedTuple

from streams.net.endpoint import Endpoint
from streams.net.security import Security, parse_security


class Listener(NamedTuple):
    """Where controllers or brokers are asked.

    Attributes:
        cluster_id: the only one to accept; None: any.
    """

    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None
    security: Security


def parse_listener(option: str) -> Listener:
    """Read what `streams.spark.settings` wrote.

    Raises:
        ValueError: an address or a security setting that cannot work.
    """
    told = json.loads(option)
    endpoints = Endpoint.parse_list(told["bootstrap"])
    return Listener(tuple(endpoints), told["cluster_id"], parse_security(told["security"]))
