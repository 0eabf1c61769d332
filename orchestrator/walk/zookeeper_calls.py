"""A connection to ZooKeeper whose every call ends in time, with an answer or a LockUnreachable."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kazoo.client import TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import KazooState

from orchestrator.errors import LockError, LockUnreachable
from streams.zookeeper.ensemble import Ensemble
from streams.zookeeper.link import Link

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


class ZooKeeperCalls:
    """One thread calls; connects at the first call, and again as often as needed."""

    def __init__(self, config: Ensemble) -> None:
        self._config = config
        self._link: Link | None = None
        self._connected = threading.Event()

    @property
    def connected(self) -> bool:
        """Whether there is a session that is connected now."""
        return self._connected.is_set()

    @property
    def session(self) -> int | None:
        """The session's id; None without a connection."""
        return None if self._link is None else self._link.session

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
        return Znode(
            text=(data or b"").decode("utf-8", "replace"),
            version=stat.version,
            zxid=stat.mzxid,
            session=stat.ephemeralOwner,
        )

    def make(self, path: str) -> None:
        """Make an empty znode, unless it is there.

        Raises:
            LockUnreachable: no answer.
            LockError: the one above it is not there, and is not for us to make.
        """
        try:
            self._answer(self._opened().client.create_async(path, b""))
        except NodeExistsError:
            return
        except NoNodeError as error:
            raise LockError(
                f"ZooKeeper at {self._config.hosts} has no {self._config.chroot or '/'}: is it the"
                " `zookeeper.connect` of this cluster's brokers?"
            ) from error

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
                raise LockError(f"ZooKeeper refuses the lock: {each!r}") from each
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
        except (KazooException, KazooTimeoutError) as error:
            raise LockUnreachable(
                f"ZooKeeper at {self._config.connect} does not answer: {error!r}"
            ) from error

    def _on_state(self, link: Link, state: str, _server: str) -> None:
        if link is self._link and state == KazooState.CONNECTED:
            self._connected.set()
        elif link is self._link:
            self._connected.clear()
