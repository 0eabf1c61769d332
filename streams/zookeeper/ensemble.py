"""Which ZooKeeper, and how it is reached."""

import json
from dataclasses import dataclass, field
from typing import Final

from kazoo.hosts import collect_hosts

from streams.net.security import Security, parse_security

_SESSION_TIMEOUT_MS_MIN: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """A ZooKeeper of one server or several.

    Attributes:
        connect: As Kafka's `zookeeper.connect`: hosts, comma separated, and perhaps a chroot behind
            the last one (`zk1:2181,zk2:2181/kafka`).
        security: PLAINTEXT or SSL, without SASL. A user name and its password are those of the
            scheme `digest`; with a certificate of its own the client is who that names (`x509`).
        session_timeout_ms: What is asked for; ZooKeeper keeps it between 2 and 20 of its ticks.
    """

    connect: str
    security: Security = field(default_factory=Security)
    session_timeout_ms: int = 6000

    def __post_init__(self) -> None:
        """Refuse what could only fail later.

        Raises:
            ValueError: no host is named, a port is no port, the session timeout is too short, or
                ZooKeeper cannot be reached like that.
        """
        try:
            collect_hosts(self.connect)
        except ValueError as error:
            raise ValueError(
                f"the ZooKeeper connection string {self.connect!r} is not host:port,... with"
                f" perhaps a /chroot at its end: {error}"
            ) from error
        if self.session_timeout_ms < _SESSION_TIMEOUT_MS_MIN:
            raise ValueError(
                f"the ZooKeeper session timeout is {self.session_timeout_ms} ms, less than"
                f" {_SESSION_TIMEOUT_MS_MIN}"
            )
        if self.security.sasl:
            raise ValueError(
                f"ZooKeeper is reached by PLAINTEXT or SSL, not by {self.security.protocol}"
            )

    @property
    def hosts(self) -> str:
        """The connection string without its chroot."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """Where Kafka lives, as `/kafka`; empty for ZooKeeper's root."""
        path = self.connect.partition("/")[2].strip("/")
        return f"/{path}" if path else ""


def parse_ensemble(option: str) -> Ensemble:
    """Read what `streams.spark.settings` wrote.

    Raises:
        ValueError: it cannot work.
    """
    told = json.loads(option)
    return Ensemble(connect=told["connect"], security=parse_security(told["security"]))
