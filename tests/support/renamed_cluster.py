"""A cluster's server under another cluster id: real clusters for a test cost a process each.

A proxy changes the id both ways, and the server's address in replies to its own. All of them keep
their length; Kafka and ZooKeeper both frame a message with four bytes of size.
"""

import base64
import uuid

from orchestrator.lab.machine.ports import LOOPBACK
from tests.support.held_requests import HeldRequests

_PORT_BYTES = 4


def another_id() -> str:
    """Return a new cluster id."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


class RenamedCluster(HeldRequests):
    """Listens on loopback for one server on it.

    Args:
        target: host:port of the server.
        cluster_id: the id that the server has.
        shown: the id that clients see.
    """

    def __init__(self, target: str, cluster_id: str, shown: str) -> None:
        super().__init__()
        self.target = target
        self._ids = cluster_id.encode(), shown.encode()
        self._addresses = _address(target), _address(self.address)

    def request(self, body: bytes) -> bytes:
        real, shown = self._ids
        return body.replace(shown, real)

    def reply(self, body: bytes) -> bytes:
        return body.replace(*self._ids).replace(*self._addresses)


def _address(address: str) -> bytes:
    port = int(address.rpartition(":")[2])
    return LOOPBACK.encode() + port.to_bytes(_PORT_BYTES)
