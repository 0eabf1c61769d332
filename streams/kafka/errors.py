"""What can go wrong while a controller or a broker is asked.

    LiveError (`streams.net.errors`)
    |-- AuthenticationFailed   (`streams.net.errors`) refused until credentials change
    |-- ConnectionFailed       transient: the node did not answer; another one may be asked
    |-- ReplyDamaged           transient: a reply, or a fetched snapshot, is not what Kafka writes
    |-- NotAuthorized          refused until the ACL is granted; tried again slowly
    |-- RequestRefused         the node answered with another error, or is too old for the request
    `-- WrongCluster           refused: the nodes, or what is stored, belong to another cluster

Each names what failed, where and, where there is one, the fix. Errors of kafka-python, kio and the
operating system are chained below them and never leak.
"""

from streams.net.errors import LiveError


class ConnectionFailed(LiveError):
    """A node cannot be reached, or did not answer in time."""


class ReplyDamaged(LiveError):
    """A reply or a fetched snapshot does not decode or fails its checksum."""


class NotAuthorized(LiveError):
    """The principal lacks an ACL, such as CLUSTER_ACTION or DESCRIBE on CLUSTER."""


class RequestRefused(LiveError):
    """The node answered with an error that no ACL fixes, or is too old for the request."""


class WrongCluster(LiveError):
    """The cluster id differs from the configured one, or from the one of the stored data."""
