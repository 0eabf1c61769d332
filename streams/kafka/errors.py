"""Errors of requests to a controller or broker.

    LiveError (`streams.net.errors`)
    |-- AuthenticationFailed   (`streams.net.errors`) rejected until the credentials change
    |-- ConnectionFailed       transient: the node did not answer; another node may answer
    |   `-- NotListening       nothing accepts connections there: the node may not exist yet
    |-- ReplyDamaged           transient: a reply or a fetched snapshot is invalid
    |-- NotAuthorized          rejected until the ACL is granted; retried slowly
    |-- RequestRefused         the node answered with another error, or is too old for the request
    `-- WrongCluster           rejected: the nodes or the stored data belong to another cluster

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
    """A node cannot be reached, or did not answer in time."""


class NotListening(ConnectionFailed):
    """Nothing accepts connections at the address, or it has no address."""


class ReplyDamaged(LiveError):
    """A reply or a fetched snapshot does not decode or fails its checksum."""


class NotAuthorized(LiveError):
    """The principal lacks an ACL, such as CLUSTER_ACTION or DESCRIBE on CLUSTER."""


class RequestRefused(LiveError):
    """The node returned an error that no ACL fixes, or is too old for the request."""


class WrongCluster(LiveError):
    """The cluster id differs from the configured one, or from that of the stored data."""
