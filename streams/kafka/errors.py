"""What can go wrong while a controller is asked.

    LiveError (`streams.net.errors`)
    |-- ConnectionFailed       transient: one controller did not answer; the next one is asked
    |-- ReplyDamaged           transient: a reply, or a fetched snapshot, is not what Kafka writes
    |-- NotAuthorized          refused until the ACL is granted; tried again slowly
    `-- WrongCluster           refused: these controllers, or this spool, belong to another cluster

Every one says what, where and, where there is one, the fix. Errors of kafka-python, kio and the
operating system are chained below them and never leak.
"""

from streams.net.errors import LiveError


class ConnectionFailed(LiveError):
    """A controller cannot be reached, or did not answer in time."""


class ReplyDamaged(LiveError):
    """A reply or a fetched snapshot does not decode or fails its checksum."""


class NotAuthorized(LiveError):
    """The principal lacks CLUSTER_ACTION on CLUSTER, which ControllerApis.handleFetch demands."""


class WrongCluster(LiveError):
    """The cluster id differs: of the controllers from the configured one, or of the spool."""
