"""What to watch, and how."""

from dataclasses import dataclass
from typing import Final

from kazoo.hosts import collect_hosts

_SESSION_TIMEOUT_MS_MIN: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherConfig:
    """Which ZooKeeper, and what of it.

    Attributes:
        connect: As Kafka's `zookeeper.connect`: hosts, comma separated, and perhaps a chroot behind
            the last one (`zk1:2181,zk2:2181/kafka`).
        session_timeout_ms: What is asked for; ZooKeeper keeps it between 2 and 20 of its ticks.
        topics: Whether the znodes of topics are watched too.
    """

    connect: str
    session_timeout_ms: int = 6000
    topics: bool = False

    def __post_init__(self) -> None:
        """Refuse what could only fail later.

        Raises:
            ValueError: no host is named, a port is no port, or the session timeout is too short.
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

    @property
    def hosts(self) -> str:
        """The connection string without its chroot."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """Where Kafka lives, as `/kafka`; empty for ZooKeeper's root."""
        path = self.connect.partition("/")[2].strip("/")
        return f"/{path}" if path else ""
