"""A listener as a Spark option describes it: endpoints, required cluster id, security."""

import json
from typing import NamedTuple

from streams.net.endpoint import Endpoint
from streams.net.security import Security, parse_security


class Listener(NamedTuple):
    """The listener of the controllers or brokers to query.

    Attributes:
        cluster_id: the only cluster id to accept; None accepts any.
    """

    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None = None
    security: Security = Security()


def parse_listener(option: str) -> Listener:
    """Parse the option that `streams.spark.settings` wrote.

    Raises:
        ValueError: an address is invalid.
    """
    told = json.loads(option)
    endpoints = Endpoint.parse_list(told["bootstrap"])
    return Listener(tuple(endpoints), told["cluster_id"], parse_security(told["security"]))
