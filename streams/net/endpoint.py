"""The host and port of a listener."""

from typing import NamedTuple


class Endpoint(NamedTuple):
    """The host and port of a listener; an IPv6 host is stored without its brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the address as it was read, with an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @staticmethod
    def parse_list(text: str) -> "tuple[Endpoint, ...]":
        """Parse `c1:9093,c2:9093`; an IPv6 address is in brackets.

        Raises:
            ValueError: an entry is not host:port, or the list is empty.
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
