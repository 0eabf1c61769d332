"""The lab's operations in ZooKeeper."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from migration.observed.znodes import BROKER_IDS, CLUSTER_ID, CONTROLLER, MIGRATION
from orchestrator.lab.errors import RequestRefusedError
from streams.zookeeper.calls import ZooKeeperCalls
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import ZooKeeperError

_CALL_S_MAX = 15.0


class ZooKeeperShell:
    """Reads the progress of the migration; deletes znodes as an operator does manually.

    Each method raises RequestRefusedError if ZooKeeper does not answer or rejects the request.

    Args:
        connect: The connect string, with Kafka's chroot.
    """

    def __init__(self, connect: str) -> None:
        self._connect = connect
        ensemble = Ensemble(connect=connect, session_timeout_ms=round(_CALL_S_MAX * 1000))
        self._chroot = ensemble.chroot
        above = replace(ensemble, connect=ensemble.hosts)
        self._calls = ZooKeeperCalls(above, answer_s=_CALL_S_MAX)

    def open(self) -> None:
        """Connect, and create the chroot, as an operator does before the first broker."""
        with self._request("connect"):
            self._calls.connect(_CALL_S_MAX)
        path = ""
        with self._request("create the chroot"):
            for name in filter(None, self._chroot.split("/")):
                path += f"/{name}"
                self._calls.ensure(path)

    def close(self) -> None:
        self._calls.close()

    def get(self, path: str) -> bytes | None:
        """Return a znode's data, or None when the znode does not exist."""
        with self._request(f"read {path}"):
            found = self._calls.get(self._chroot + path)
        return None if found is None else found.data

    def cluster_id(self) -> str | None:
        """Return the id that the first broker gave the cluster, or None before it did."""
        data = self.get(CLUSTER_ID)
        return str(json.loads(data)["id"]) if data else None

    def broker_is_present(self, id_: int) -> bool:
        """Return whether the broker's ephemeral znode exists."""
        return self.get(f"{BROKER_IDS}/{id_}") is not None

    def copied_offset(self) -> int:
        """Return the metadata offset in /migration: above 0 once the copy is complete, else -1."""
        data = self.get(MIGRATION)
        return int(json.loads(data)["kraft_metadata_offset"]) if data else -1

    def controller(self) -> tuple[int, bool] | None:
        """Return the owner of /controller and whether it is a KRaft controller; None: no owner."""
        data = self.get(CONTROLLER)
        if data is None:
            return None
        content = json.loads(data)
        return int(content["brokerid"]), int(content.get("kraftControllerEpoch", -1)) >= 0

    def delete(self, path: str) -> None:
        """Delete a znode without children; one that does not exist counts as deleted."""
        with self._request(f"delete {path}"):
            self._calls.delete(self._chroot + path)

    @contextmanager
    def _request(self, what: str) -> Iterator[None]:
        try:
            yield
        except ZooKeeperError as error:
            raise RequestRefusedError(
                f"ZooKeeper did not {what}: {error}",
                where=self._connect,
                fix="Look at the log of zookeeper; is it frozen or dead?",
            ) from error
