"""Errors of requests to a controller or broker.

Each error names the failure, the endpoint and, if there is one, the fix. Errors of kafka-python,
kio and the operating system are chained as the cause and never leak.
"""

from typing import Final

from streams.net.errors import LiveError

GRANT_FETCH: Final = (
    "grant the principal CLUSTER_ACTION on CLUSTER (before the copy, the controllers have no ACLs:"
    " add it to their super.users)"
)
"""The fix for a refused FETCH of the metadata log."""


class ConnectionFailed(LiveError):
    """Transient: a node cannot be reached, or did not answer in time; another one may answer."""


class NotListening(ConnectionFailed):
    """Nothing accepts connections at the address, or it has none: the node may not exist yet."""


class ReplyDamaged(LiveError):
    """Transient: a reply or a fetched snapshot does not decode or fails its checksum."""


class NotAuthorized(LiveError):
    """The principal lacks an ACL, such as DESCRIBE on CLUSTER; retried slowly until it has it."""


class RequestRefused(LiveError):
    """The node returned an error that no ACL fixes, or is too old for the request."""


class WrongCluster(LiveError):
    """The cluster id differs from the configured one, or from that of the stored data."""
