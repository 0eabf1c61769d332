"""A listener from a Spark option: where to ask, which cluster it must be, how it is secured."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from streams.live.messages import Endpoint
from streams.live.security import Security

_PATHS: Final = ("password_file", "ca_file", "cert_file", "key_file", "key_password_file")


class Listener(NamedTuple):
    """Where controllers or brokers are asked.

    Attributes:
        cluster_id: the only one to accept; None: any.
    """

    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None
    security: Security


def parse_listener(option: str) -> Listener:
    """Read what `streams.job.settings` wrote.

    Raises:
        ValueError: an address or a security setting that cannot work.
    """
    told = json.loads(option)
    security: dict[str, Any] = {
        key: Path(value) if key in _PATHS and value is not None else value
        for key, value in told["security"].items()
    }
    endpoints = Endpoint.parse_list(told["bootstrap"])
    return Listener(tuple(endpoints), told["cluster_id"], Security(**security))
