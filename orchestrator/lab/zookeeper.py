"""What the lab reads in ZooKeeper, through one kazoo client with bounded calls."""

import json
import logging
from collections.abc import Callable
from typing import TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from orchestrator.lab.errors import RequestRefusedError

_CALL_S_MAX = 15.0
# Lost connections are this lab's trade; what matters of them is raised by the call that met them.
_LOG = logging.getLogger("kraftgate.lab.zookeeper")
_LOG.setLevel(logging.CRITICAL)

T = TypeVar("T")


class ZooKeeperReader:
    """Reads what tells how far the migration is.

    Args:
        connect: The connect string, with Kafka's chroot.
    """

    def __init__(self, connect: str) -> None:
        self._connect = connect
        address, slash, chroot = connect.partition("/")
        self._chroot = slash + chroot
        self._client = KazooClient(hosts=address, timeout=_CALL_S_MAX, logger=_LOG)

    def open(self) -> None:
        """Connect, and make the chroot, as an operator does before the first broker.

        Raises:
            RequestRefusedError: No connection in time.
        """
        self._bounded("connect", lambda: self._client.start(timeout=_CALL_S_MAX))
        if self._chroot:
            self._bounded("make the chroot", lambda: self._client.ensure_path(self._chroot))

    def close(self) -> None:
        """End the session."""
        self._client.stop()
        self._client.close()

    def get(self, path: str) -> bytes | None:
        """Return a znode's data, or None when there is no such znode.

        Raises:
            RequestRefusedError: ZooKeeper did not answer.
        """

        def read() -> bytes | None:
            try:
                data: bytes = self._client.get_async(self._chroot + path).get(timeout=_CALL_S_MAX)[
                    0
                ]
            except NoNodeError:
                return None
            return data

        return self._bounded(f"read {path}", read)

    def cluster_id(self) -> str | None:
        """Return the id that the first broker gave the cluster, or None before it did."""
        data = self.get("/cluster/id")
        return str(json.loads(data)["id"]) if data else None

    def broker_is_present(self, id_: int) -> bool:
        """Whether the broker's ephemeral znode exists."""
        return self.get(f"/brokers/ids/{id_}") is not None

    def copied_offset(self) -> int:
        """Return the metadata offset in /migration: above 0 once the copy is complete, else -1."""
        data = self.get("/migration")
        return int(json.loads(data)["kraft_metadata_offset"]) if data else -1

    def _bounded(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except (KazooException, KazooTimeoutError) as error:
            raise RequestRefusedError(
                f"ZooKeeper did not {what}: {error or type(error).__name__}",
                where=self._connect,
                mend="Look at the log of zookeeper; is it frozen or dead?",
            ) from error
