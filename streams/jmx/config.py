"""The configuration of the polls for JMX numbers, and its form as a Spark option."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The credentials of the requests. It has the paths of secrets, never the secrets.

    Secrets are read again at each request, so a rotated one requires no restart.

    Attributes:
        username: with `password_file`, for HTTP's basic authentication.
        password_file: its first line is the password.
        bearer_token_file: its first line is the token.
        ca_file: PEM file of trusted authorities; None: the system's.
    """

    username: str | None = None
    password_file: Path | None = None
    bearer_token_file: Path | None = None
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer:
    """A Prometheus that scrapes the nodes.

    Attributes:
        labels: the labels that all series of this cluster have.
        node_label: the label whose value is the node id; None: use `instances`.
        instances: node ids by the label `instance`.
    """

    url: str
    labels: Mapping[str, str] = field(default_factory=dict)
    node_label: str | None = None
    instances: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JmxConfig:
    """The configuration of one cluster's JMX numbers.

    Attributes:
        exporters: address of each node's jmx_exporter, by node id; empty: use `prometheus`.
        prometheus: None: use `exporters`.
        interval_s: between two polls.
        deadline_s: for one answer, from connecting to its last byte.
        parallel: the maximum number of exporters that are polled at the same time.
    """

    exporters: Mapping[int, str] = field(default_factory=dict)
    prometheus: PrometheusServer | None = None
    access: Access = field(default_factory=Access)
    interval_s: float = 10.0
    deadline_s: float = 5.0
    parallel: int = 64

    @property
    def named(self) -> frozenset[int]:
        """The nodes that the configuration names; empty: Prometheus determines them."""
        if self.prometheus is None:
            return frozenset(self.exporters)
        return frozenset(self.prometheus.instances.values())


def parse_jmx(option: str) -> JmxConfig:
    """Return the configuration that `streams.spark.settings` serialized.

    It has the keys of `jmx` in kraftgate.yaml, as JSON.
    """
    found: dict[str, Any] = json.loads(option)
    server = found.get("prometheus")
    return JmxConfig(
        exporters={int(id_): url for id_, url in (found.get("exporters") or {}).items()},
        prometheus=server and TypeAdapter(PrometheusServer).validate_python(server),
        access=TypeAdapter(Access).validate_python(found),
    )
