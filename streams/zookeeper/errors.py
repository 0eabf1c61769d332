"""The errors of requests to ZooKeeper, with ZooKeeper's own names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kazoo.exceptions import (
    AuthFailedError,
    CancelledError,
    ConnectionDropped,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
    UnimplementedError,
    ZookeeperError,
)
from kazoo.handlers.threading import KazooTimeoutError


class ZooKeeperError(Exception):
    """A request to ZooKeeper failed, or a reading was abandoned."""


class NoAnswer(ZooKeeperError):
    """No connection, or no answer in time: a write may have been done even so."""


class RequestFailed(ZooKeeperError):
    """ZooKeeper answered with an error, or its answer cannot be parsed."""


class NoNode(RequestFailed):
    """The znode, or the parent of a new one, does not exist."""


class NodeExists(RequestFailed):
    """The znode to create exists."""


class NoAuth(RequestFailed):
    """The znode's ACL does not permit the request."""


class InvalidAcl(RequestFailed):
    """The ACL names this client's identity, and the server knows none."""


class Unimplemented(RequestFailed):
    """The server is too old for the request."""


class AnotherCluster(ZooKeeperError):
    """`/cluster/id` names another cluster than the one followed so far."""

    def __init__(self, cluster_id: str, followed: str) -> None:
        super().__init__(
            f"/cluster/id is {cluster_id}, but this state directory follows cluster {followed}."
            " Correct zookeeper.connect, or use another state_dir"
        )
        self.cluster_id = cluster_id


class Abandoned(ZooKeeperError):
    """A reading of the content ended without a result."""


_NO_ANSWER: Final = (
    AuthFailedError,
    CancelledError,
    ConnectionDropped,
    ConnectionLoss,
    KazooTimeoutError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)
_FAILED: Final[Mapping[type[Exception], type[RequestFailed]]] = MappingProxyType(
    {
        InvalidACLError: InvalidAcl,
        NoAuthError: NoAuth,
        NoNodeError: NoNode,
        NodeExistsError: NodeExists,
        UnimplementedError: Unimplemented,
    }
)


def error_of(error: BaseException, place: str = "") -> ZooKeeperError:
    """Return kazoo's error of a request as this package's; its message begins with `place`."""
    prefix = f"{place}: " if place else ""
    name = type(error).__name__.removesuffix("Error")
    if isinstance(error, _NO_ANSWER):
        return NoAnswer(f"{place} does not answer ({name})" if place else name)
    if isinstance(error, ZookeeperError):
        return _FAILED.get(type(error), RequestFailed)(f"{prefix}{name}")
    return RequestFailed(f"{prefix}an answer that cannot be parsed: {error!r}")
