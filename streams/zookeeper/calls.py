"""Requests to ZooKeeper that end within a time limit, with an answer or a `ZooKeeperError`."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kazoo.client import TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import KazooState
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, Permissions

from streams.net.security import Security
from streams.zookeeper.client import Client
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.errors import NoAnswer, NodeExists, NoNode, error_of

# The errors of a transaction: one of them names the check that failed, the others mark the
# operations that were therefore not done.
_CHECK_FAILED: Final = (
    BadVersionError,
    NoNodeError,
    NodeExistsError,
    RolledBackError,
    RuntimeInconsistency,
)
_WRITE_AND_CREATE: Final = Permissions.WRITE | Permissions.CREATE
_ANSWER_S_MAX: Final = 5.0
_UNCONNECTED_S_MAX: Final = 15.0
"""A client without a connection for this long is replaced: ZooKeeper would always reject one that
has seen a higher zxid than its own."""

Transaction: TypeAlias = TransactionRequest
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A znode as it was read.

    Attributes:
        zxid: that of its last change (mzxid).
        session: the session that owns the ephemeral znode; 0: it is not ephemeral.
    """

    data: bytes
    version: int = 0
    zxid: int = 0
    session: int = 0

    @property
    def text(self) -> str:
        """The data as UTF-8; bytes that are not are replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Pending(Generic[T]):
    """A request that was sent."""

    _asked: IAsyncResult
    _parse: Callable[[Any], T]
    _place: str
    _answer_s: float

    def done(self) -> bool:
        """Return whether `result` returns at once."""
        return bool(self._asked.ready())

    def result(self, answer_s: float | None = None) -> T:
        """Wait for the answer; without `answer_s`, for the time limit of the `ZooKeeperCalls`.

        Raises:
            ZooKeeperError: there is no answer in time, or it is an error.
        """
        try:
            answer = self._asked.get(timeout=self._answer_s if answer_s is None else answer_s)
        except Exception as error:
            raise error_of(error, self._place) from error
        return self._parse(answer)


class ZooKeeperCalls:
    """One session with a ZooKeeper; `connect` begins another one after it was lost for good.

    Once begun, a client connects by itself, also between two calls of `connect`.

    Every request raises `ZooKeeperError`: `NoAnswer` without a connection.

    Args:
        ensemble: Paths are relative to its chroot.
        answer_s: The time limit of each request.

    Attributes:
        place: The ensemble's name in messages.
        acl: The ACL of every znode that is created.
    """

    def __init__(self, ensemble: Ensemble, answer_s: float = _ANSWER_S_MAX) -> None:
        self._ensemble = ensemble
        self.place = f"ZooKeeper at {ensemble.connect}"
        self._answer_s = answer_s
        self._client: Client | None = None
        self._connected = threading.Event()
        self._unconnected_since_s = 0.0
        self.acl = _acl_of(ensemble.security)

    @property
    def connected(self) -> bool:
        return self._connected.is_set()

    @property
    def session_id(self) -> int | None:
        """None without a connection."""
        return None if self._client is None else self._client.session_id

    @property
    def session_timeout_s(self) -> float:
        """The timeout that ZooKeeper granted last; before the first session, the configured one."""
        if self._client is None:
            return self._ensemble.session_timeout_ms / 1000
        return self._client.session_timeout_s

    def why_not(self) -> str:
        client = self._client
        return "there is no connection to ZooKeeper" if client is None else client.why_not()

    def connect(self, wait_s: float) -> None:
        """Connect, unless there is a connection.

        Raises:
            NoAnswer: there is no connection within `wait_s`.
        """
        client = self._client
        if client is None or self._is_to_be_replaced():
            client = self._begin_client(client)
        if not self._connected.wait(wait_s):
            raise NoAnswer(client.why_not())

    def _is_to_be_replaced(self) -> bool:
        unconnected_s = time.monotonic() - self._unconnected_since_s
        return not self._connected.is_set() and unconnected_s >= _UNCONNECTED_S_MAX

    def _begin_client(self, former: Client | None) -> Client:
        """Begin to connect; until a server answers, the reasons of the former client count."""
        self._client = client = Client(self._ensemble, self._on_state)
        self._connected.clear()
        self._unconnected_since_s = time.monotonic()
        if former is not None:
            client.handler.tried.update(former.handler.tried)
            # A server that hangs delays the end; the caller may be the loop of all clusters.
            threading.Thread(target=former.end, daemon=True).start()
        client.open()
        return client

    def close(self) -> None:
        client, self._client = self._client, None
        self._connected.clear()
        if client is not None:
            client.end()

    def begin_get(self, path: str) -> Pending[Znode]:
        return self._begin(self._opened().get_async(path), _znode)

    def begin_children(self, path: str) -> Pending[list[str]]:
        """Request the names of a znode's children, in order."""
        return self._begin(self._opened().get_children_async(path), sorted)

    def begin_is_open(self, path: str) -> Pending[bool]:
        """Request whether everyone may write a znode and create children."""
        return self._begin(self._opened().get_acls_async(path), lambda answer: _is_open(answer[0]))

    def get(self, path: str) -> Znode | None:
        """Return a znode; None: it does not exist."""
        try:
            return self.begin_get(path).result()
        except NoNode:
            return None

    def create(self, path: str, data: bytes = b"") -> None:
        """Create a persistent znode."""
        self._answer(self._opened().create_async(path, data, acl=self.acl))

    def ensure(self, path: str) -> None:
        """Create an empty znode, unless it exists."""
        with suppress(NodeExists):
            self.create(path)

    def delete(self, path: str, version: int = -1) -> None:
        """Delete a znode of this version (-1: of any), unless it does not exist."""
        with suppress(NoNode):
            self._answer(self._opened().delete_async(path, version))

    def protect(self, path: str) -> None:
        """Restrict the ACL of a znode that an earlier release left writable for everyone.

        Without authentication nothing is protected: ZooKeeper could not identify the client that
        changes the znode.
        """
        if self.acl == OPEN_ACL_UNSAFE:
            return
        now, _ = self._answer(self._opened().get_acls_async(path))
        if any(each.id.scheme == "world" and each.perms != Permissions.READ for each in now):
            self._answer(self._opened().set_acls_async(path, self.acl))

    def wait_for_change(self, path: str, deadline_s: float) -> None:
        """Wait until an existing znode or the connection changes, or until the deadline."""
        changed = threading.Event()
        asked = self._opened().exists_async(path, watch=lambda _: changed.set())
        if self._answer(asked) is not None:
            changed.wait(max(0.0, deadline_s - time.monotonic()))

    def transaction(self) -> Transaction:
        return self._opened().transaction()

    def commit(self, transaction: Transaction) -> Sequence[Any] | None:
        """Commit; return each operation's result, or None if a check failed and nothing was done.

        After `NoAnswer` the transaction may have been committed.
        """
        results: Sequence[Any] = self._answer(transaction.commit_async())
        failed = [each for each in results if isinstance(each, Exception)]
        for each in failed:
            if not isinstance(each, _CHECK_FAILED):
                raise error_of(each, self.place) from each
        return None if failed else results

    def _opened(self) -> Client:
        if self._client is None:
            raise NoAnswer("there is no connection to ZooKeeper")
        return self._client

    def _begin(self, asked: IAsyncResult, parse: Callable[[Any], T]) -> Pending[T]:
        return Pending(asked, parse, self.place, self._answer_s)

    def _answer(self, asked: IAsyncResult) -> Any:  # noqa: ANN401 each request has its own
        return self._begin(asked, lambda answer: answer).result()

    def _on_state(self, client: Client, state: str, _server: str) -> None:
        if client is self._client and state == KazooState.CONNECTED:
            self._connected.set()
        elif client is self._client and self._connected.is_set():
            self._unconnected_since_s = time.monotonic()
            self._connected.clear()


def _znode(answer: Any) -> Znode:  # noqa: ANN401 kazoo is not typed
    data, stat = answer
    return Znode(
        data=data or b"", version=stat.version, zxid=stat.mzxid, session=stat.ephemeralOwner
    )


def _is_open(acls: Sequence[ACL]) -> bool:
    return any(
        each.id.scheme == "world" and each.perms & _WRITE_AND_CREATE == _WRITE_AND_CREATE
        for each in acls
    )


def _acl_of(security: Security) -> list[ACL]:
    """Return an ACL: everyone may read, only this identity may write; without one, everyone."""
    if security.zookeeper_identity:
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
    return list(OPEN_ACL_UNSAFE)
