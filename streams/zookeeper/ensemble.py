"""The configuration of a ZooKeeper ensemble, and of the connections to it."""

import json
from dataclasses import asdict, dataclass, field

from streams.net.security import Security, parse_security


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """A ZooKeeper of one server or more.

    Attributes:
        connect: As Kafka's `zookeeper.connect`: hosts, separated by commas, and optionally a chroot
            after the last one (`zk1:2181,zk2:2181/kafka`).
        security: PLAINTEXT or SSL, without SASL. A user name and its password are those of the
            scheme `digest`; a client with a certificate is the user that it names (`x509`).
        session_timeout_ms: The requested timeout; ZooKeeper limits it to between 2 and 20 of its
            ticks.
    """

    connect: str
    security: Security = field(default_factory=Security)
    session_timeout_ms: int = 6000

    @property
    def hosts(self) -> str:
        """The connection string without its chroot."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """Kafka's chroot, such as `/kafka`; empty for ZooKeeper's root."""
        path = self.connect.partition("/")[2].strip("/")
        return f"/{path}" if path else ""


def parse_ensemble(option: str) -> Ensemble:
    """Return the ensemble that `streams.spark.settings` or `ensemble_option` serialized."""
    found = json.loads(option)
    return Ensemble(**{**found, "security": parse_security(found["security"])})


def ensemble_option(ensemble: Ensemble) -> str:
    """Return the input of `parse_ensemble`, one line; like `Security` it contains no secrets."""
    return json.dumps(asdict(ensemble), default=str)
