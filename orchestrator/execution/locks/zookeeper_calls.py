"""A ZooKeeper client whose calls end within a time limit, with an answer or LockUnreachable."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kazoo.client import TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    InvalidACLError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import KazooState
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, Permissions

from orchestrator.errors import LockError, LockUnreachable
from streams.net.security import Security
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.link import Link

HOME: Final = "/kraftgate"
"""The parent of everything that Kraftgate writes to ZooKeeper."""
_CONNECT_S_MAX: Final = 15.0
_ANSWER_S_MAX: Final = 5.0
# The errors of a transaction: one of them names the check that failed, the others mark the
# operations that were therefore not done.
_DID_NOT_HOLD: Final = (
    BadVersionError,
    NoNodeError,
    NodeExistsError,
    RolledBackError,
    RuntimeInconsistency,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A znode as it was read.

    Attributes:
        zxid: that of its last change (mzxid).
        session: the session that owns the ephemeral znode; 0: it is not ephemeral.
    """

    text: str
    version: int
    zxid: int
    session: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """ZooKeeper has not answered yet."""


class ZooKeeperCalls:
    """Calls ZooKeeper from one thread; connects at the first call, and reconnects when needed.

    Attributes:
        acl: the ACL of every znode that is created.
    """

    def __init__(self, config: Ensemble) -> None:
        self._config = config
        self._link: Link | None = None
        self._connected = threading.Event()
        self.acl = _acl_of(config.security)

    @property
    def connected(self) -> bool:
        """Whether there is a connected session now."""
        return self._connected.is_set()

    @property
    def session(self) -> int | None:
        """The session's id; None without a connection."""
        return None if self._link is None else self._link.session

    @property
    def session_timeout_s(self) -> float:
        """The timeout that ZooKeeper granted last; before the first session, the configured one."""
        return (
            self._config.session_timeout_ms / 1000
            if self._link is None
            else self._link.session_timeout_s
        )

    def why_not(self) -> str:
        """Return why there is no connection."""
        return "there is no connection to ZooKeeper" if self._link is None else self._link.why_not()

    def connect(self) -> None:
        """Connect, unless there is a connection.

        Raises:
            LockUnreachable: there is no connection within `_CONNECT_S_MAX`.
        """
        if self._link is None:
            self._link = Link(self._config, self._on_state)
            self._link.open()
        if not self._connected.wait(_CONNECT_S_MAX):
            why = self._link.why_not()
            # ZooKeeper would always reject a client that has seen a higher zxid than its own.
            self.close()
            raise LockUnreachable(why)

    def close(self) -> None:
        """End the session."""
        link, self._link = self._link, None
        self._connected.clear()
        if link is not None:
            link.close()

    def read(self, path: str) -> Znode | None:
        """Read a znode; None: there is none.

        Raises:
            LockUnreachable: no answer.
        """
        try:
            data, stat = self._answer(self._opened().client.get_async(path))
        except NoNodeError:
            return None
        return _znode(data, stat)

    def begin_read(self, path: str) -> Callable[[], "Znode | Unanswered | None"]:
        """Start to read a znode; return a function that returns the answer once there is one.

        Raises:
            LockUnreachable: there is no connection; the returned function raises it too.
        """
        asked = self._opened().client.get_async(path)

        def answer() -> "Znode | Unanswered | None":
            if not asked.ready():
                return Unanswered()
            try:
                return _znode(*self._answer(asked))
            except NoNodeError:
                return None

        return answer

    def make(self, path: str) -> None:
        """Create an empty znode, unless it exists.

        Raises:
            LockUnreachable: no answer.
            LockError: the parent does not exist, and Kraftgate must not create it.
        """
        try:
            self._answer(self._opened().client.create_async(path, b"", acl=self.acl))
        except NodeExistsError:
            return
        except NoNodeError as error:
            raise LockError(
                f"ZooKeeper at {self._config.hosts} has no {self._config.chroot or '/'}: is it the"
                " `zookeeper.connect` of this cluster's brokers?"
            ) from error

    def protect(self, path: str) -> None:
        """Restrict the ACL of a znode that an earlier release left writable for everyone.

        Without authentication nothing is protected: ZooKeeper could not identify the client that
        changes the znode.

        Raises:
            LockUnreachable: no answer.
            LockError: it belongs to another identity.
        """
        if self.acl == OPEN_ACL_UNSAFE:
            return
        client = self._opened().client
        now, _ = self._answer(client.get_acls_async(path))
        if any(each.id.scheme == "world" and each.perms != Permissions.READ for each in now):
            self._answer(client.set_acls_async(path, self.acl))

    def delete(self, path: str, version: int) -> None:
        """Delete a znode of this version, unless it does not exist.

        Raises:
            LockUnreachable: no answer, or it changed in the meantime.
            LockError: it belongs to another identity.
        """
        with contextlib.suppress(NoNodeError):
            self._answer(self._opened().client.delete_async(path, version))

    def wait_for_change(self, path: str, deadline_s: float) -> None:
        """Wait until an existing znode or the connection changes, or until the deadline.

        Raises:
            LockUnreachable: no answer.
        """
        changed = threading.Event()
        asked = self._opened().client.exists_async(path, watch=lambda _: changed.set())
        if self._answer(asked) is not None:
            changed.wait(max(0.0, deadline_s - time.monotonic()))

    def transaction(self) -> TransactionRequest:
        """Start a transaction; `commit` sends it."""
        return self._opened().client.transaction()

    def commit(self, transaction: TransactionRequest) -> Sequence[Any] | None:
        """Commit; return each operation's result, or None if a check failed and nothing was done.

        Raises:
            LockUnreachable: no answer: the transaction may have been committed.
            LockError: ZooKeeper rejects it.
        """
        results: Sequence[Any] = self._answer(transaction.commit_async())
        failed = [each for each in results if isinstance(each, Exception)]
        for each in failed:
            if not isinstance(each, _DID_NOT_HOLD):
                raise self._refused(each) from each
        return None if failed else results

    def _opened(self) -> Link:
        if self._link is None:
            raise LockUnreachable("there is no connection to ZooKeeper")
        return self._link

    def _answer(self, asked: IAsyncResult) -> Any:  # noqa: ANN401  # what was asked for
        try:
            return asked.get(timeout=_ANSWER_S_MAX)
        except (NoNodeError, NodeExistsError):
            raise
        except (NoAuthError, InvalidACLError) as error:
            raise self._refused(error) from error
        except (KazooException, KazooTimeoutError) as error:
            raise LockUnreachable(
                f"ZooKeeper at {self._config.connect} does not answer: {error!r}"
            ) from error

    def _refused(self, error: Exception) -> LockError:
        at = f"ZooKeeper at {self._config.connect}"
        if isinstance(error, NoAuthError):
            return LockError(
                f"{at} refuses access to {HOME}: it belongs to another identity. Configure the user"
                " or the certificate that it was made with, or delete it while nothing uses it"
            )
        if isinstance(error, InvalidACLError):
            return LockError(
                f"{at} does not know the identity that `zookeeper` configures (InvalidACL): check"
                " the user, or whether the server asks for client certificates"
            )
        return LockError(f"{at} refuses the lock: {error!r}")

    def _on_state(self, link: Link, state: str, _server: str) -> None:
        if link is self._link and state == KazooState.CONNECTED:
            self._connected.set()
        elif link is self._link:
            self._connected.clear()


def _znode(data: bytes | None, stat: Any) -> Znode:  # noqa: ANN401  # kazoo is not typed
    return Znode(
        text=(data or b"").decode("utf-8", "replace"),
        version=stat.version,
        zxid=stat.mzxid,
        session=stat.ephemeralOwner,
    )


def _acl_of(security: Security) -> list[ACL]:
    """Return an ACL: everyone may read, only this identity may write; without one, everyone."""
    if security.zookeeper_identity:
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
    return list(OPEN_ACL_UNSAFE)
