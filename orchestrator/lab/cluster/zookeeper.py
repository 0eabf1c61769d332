"""The lab's operations in ZooKeeper, through one kazoo client with bounded calls."""

import contextlib
import json
from collections.abc import Callable
from typing import TypeVar

from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from orchestrator.lab.errors import RequestRefusedError
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble

_CALL_S_MAX = 15.0

T = TypeVar("T")


class ZooKeeperShell:
    """Reads the progress of the migration; writes and deletes znodes as an operator does manually.

    Args:
        connect: The connect string, with Kafka's chroot.
    """

    def __init__(self, connect: str) -> None:
        self._connect = connect
        address, slash, chroot = connect.partition("/")
        self._chroot = slash + chroot
        session_ms = round(_CALL_S_MAX * 1000)
        self._client = Client(Ensemble(connect=address, session_timeout_ms=session_ms))

    def open(self) -> None:
        """Connect, and create the chroot, as an operator does before the first broker.

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
        """Return a znode's data, or None when the znode does not exist.

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
        """Return whether the broker's ephemeral znode exists."""
        return self.get(f"/brokers/ids/{id_}") is not None

    def copied_offset(self) -> int:
        """Return the metadata offset in /migration: above 0 once the copy is complete, else -1."""
        data = self.get("/migration")
        return int(json.loads(data)["kraft_metadata_offset"]) if data else -1

    def controller(self) -> tuple[int, bool] | None:
        """Return the owner of /controller and whether it is a KRaft controller; None: no owner."""
        data = self.get("/controller")
        if data is None:
            return None
        content = json.loads(data)
        return int(content["brokerid"]), int(content.get("kraftControllerEpoch", -1)) >= 0

    def delete(self, path: str) -> None:
        """Delete a znode; one that does not exist counts as deleted.

        Raises:
            RequestRefusedError: ZooKeeper did not answer, or the znode has children.
        """

        def delete() -> None:
            with contextlib.suppress(NoNodeError):
                self._client.delete_async(self._chroot + path).get(timeout=_CALL_S_MAX)

        self._bounded(f"delete {path}", delete)

    def put(self, path: str, data: bytes) -> None:
        """Write a znode, and create it if it does not exist; not safe while Kafka writes it.

        Raises:
            RequestRefusedError: ZooKeeper did not answer.
        """

        def put() -> None:
            try:
                self._client.set_async(self._chroot + path, data).get(timeout=_CALL_S_MAX)
            except NoNodeError:
                self._client.create_async(self._chroot + path, data).get(timeout=_CALL_S_MAX)

        self._bounded(f"write {path}", put)

    def children(self, path: str) -> list[str]:
        """Return the names of a znode's children, in order.

        Raises:
            RequestRefusedError: ZooKeeper did not answer, or the znode does not exist.
        """

        def read() -> list[str]:
            asked = self._client.get_children_async(self._chroot + path)
            return sorted(map(str, asked.get(timeout=_CALL_S_MAX)))

        return self._bounded(f"list {path}", read)

    def _bounded(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except (KazooException, KazooTimeoutError) as error:
            raise RequestRefusedError(
                f"ZooKeeper did not {what}: {str(error) or type(error).__name__}",
                where=self._connect,
                fix="Look at the log of zookeeper; is it frozen or dead?",
            ) from error
