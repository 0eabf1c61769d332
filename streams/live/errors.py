"""What can go wrong while following a live quorum.

    LiveError
    |-- ConnectionFailed       transient: one controller did not answer; the next one is asked
    |-- ReplyDamaged           transient: a reply, or a fetched snapshot, is not what Kafka writes
    |-- AuthenticationFailed   refused until credentials change; tried again slowly
    |-- NotAuthorized          refused until the ACL is granted; tried again slowly
    |-- WrongCluster           refused: these controllers, or this spool, belong to another cluster
    |-- CommittedLogDiverged   refused for good: the cluster lost records that it had committed
    |-- SpoolDamaged           a file in the spool is neither whole nor merely cut at its end
    |-- SpoolInUse             another process writes this spool
    `-- FollowerCrashed        the follower's thread died of an error nobody foresaw

Every one says what, where and, where there is one, the mend. Errors of kafka-python, kio and the
operating system are chained below them and never leak.
"""


class LiveError(Exception):
    """The follower cannot go on as asked."""


class ConnectionFailed(LiveError):
    """A controller cannot be reached, or did not answer in time."""


class ReplyDamaged(LiveError):
    """A reply or a fetched snapshot does not decode or fails its checksum."""


class AuthenticationFailed(LiveError):
    """The controller refused the credentials (SASL)."""


class NotAuthorized(LiveError):
    """The principal lacks CLUSTER_ACTION on CLUSTER, which ControllerApis.handleFetch demands."""


class WrongCluster(LiveError):
    """The cluster id differs: of the controllers from the configured one, or of the spool."""


class CommittedLogDiverged(LiveError):
    """The leader lacks records that lie committed in the spool: the quorum lost them."""


class SpoolDamaged(LiveError):
    """A spool file other than the end of the newest segment is damaged."""


class SpoolInUse(LiveError):
    """Another process holds the spool's lock."""


class FollowerCrashed(LiveError):
    """The follower's thread ended with an unexpected error, chained as the cause."""
