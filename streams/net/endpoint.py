"""The host and port of a listener of a controller or broker."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """The host and port of a listener of a controller or broker."""

    host: str
    port: int

    def __str__(self) -> str:
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
