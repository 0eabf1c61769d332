"""Where a controller or a broker listens: host and port."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a controller listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Print as in a bootstrap list."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @staticmethod
    def parse_list(text: str) -> "tuple[Endpoint, ...]":
        """Read `c1:9093,c2:9093`; IPv6 addresses stand in brackets.

        Raises:
            ValueError: an entry is not host:port, or there is none.
        """
        found = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            host, colon, port = entry.rpartition(":")
            host = host.removeprefix("[").removesuffix("]")
            if not colon or not host or not port.isdigit():
                raise ValueError(f"{entry!r} is not host:port")
            found.append(Endpoint(host, int(port)))
        if not found:
            raise ValueError("no controller is named: expected host:port,host:port")
        return tuple(found)
