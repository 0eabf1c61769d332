"""A connection to ZooKeeper whose every call ends in time, with an answer or a LockUnreachable."""

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
"""Below it is everything that Kraftgate writes to ZooKeeper."""
_CONNECT_S_MAX: Final = 15.0
_ANSWER_S_MAX: Final = 5.0
# Of a transaction: one of these says what did not hold, the others that they were not done then.
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
        zxid: of its last change.
        session: that it is the ephemeral of; 0: of none.
    """

    text: str
    version: int
    zxid: int
    session: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """ZooKeeper has not answered yet."""


class ZooKeeperCalls:
    """One thread calls; connects at the first call, and again as often as needed.

    Attributes:
        acl: of every znode that is created.
    """

    def __init__(self, config: Ensemble) -> None:
        self._config = config
        self._link: Link | None = None
        self._connected = threading.Event()
        self.acl = _acl_of(config.security)

    @property
    def connected(self) -> bool:
        """Whether there is a session that is connected now."""
        return self._connected.is_set()

    @property
    def session(self) -> int | None:
        """The session's id; None without a connection."""
        return None if self._link is None else self._link.session

    @property
    def session_timeout_s(self) -> float:
        """As ZooKeeper granted it to the last session; before there was one, as configured."""
        return (
            self._config.session_timeout_ms / 1000
            if self._link is None
            else self._link.session_timeout_s
        )

    def why_not(self) -> str:
        """Say why there is no connection."""
        return "there is no connection to ZooKeeper" if self._link is None else self._link.why_not()

    def connect(self) -> None:
        """See to it that there is a connection.

        Raises:
            LockUnreachable: there is none within `_CONNECT_S_MAX`.
        """
        if self._link is None:
            self._link = Link(self._config, self._on_state)
            self._link.open()
        if not self._connected.wait(_CONNECT_S_MAX):
            why = self._link.why_not()
            # A client that has seen more than ZooKeeper has now would be refused for ever.
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
        """Begin to read a znode; what is returned gives the answer once there is one.

        Raises:
            LockUnreachable: there is no connection; also by what is returned.
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
        """Make an empty znode, unless it is there.

        Raises:
            LockUnreachable: no answer.
            LockError: the one above it is not there, and is not for us to make.
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
        """Let nobody else change a znode that an earlier release left open to everybody.

        Without authentication nothing is protected: ZooKeeper could not tell who changes it.

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
        """Delete a znode of this version, unless it is gone.

        Raises:
            LockUnreachable: no answer, or it changed meanwhile.
            LockError: it belongs to another identity.
        """
        with contextlib.suppress(NoNodeError):
            self._answer(self._opened().client.delete_async(path, version))

    def wait_for_change(self, path: str, deadline_s: float) -> None:
        """Wait until a znode that is there changes, or the connection does, or it is too late.

        Raises:
            LockUnreachable: no answer.
        """
        changed = threading.Event()
        asked = self._opened().client.exists_async(path, watch=lambda _: changed.set())
        if self._answer(asked) is not None:
            changed.wait(max(0.0, deadline_s - time.monotonic()))

    def transaction(self) -> TransactionRequest:
        """Begin a transaction; nothing of it is done before `commit`."""
        return self._opened().client.transaction()

    def commit(self, transaction: TransactionRequest) -> Sequence[Any] | None:
        """Do all of it, or nothing; gives each step's result, or None when a check did not hold.

        Raises:
            LockUnreachable: no answer: it was done or not.
            LockError: ZooKeeper refuses it.
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
    """Let everybody read and only this identity write; without one, everybody."""
    if security.zookeeper_identity:
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
    return list(OPEN_ACL_UNSAFE)
