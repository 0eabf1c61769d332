"""What can go wrong while following a live quorum, beside the errors of the connection.

LiveError (`streams.net.errors`)
|-- CommittedLogDiverged   refused for good: the cluster lost records that it had committed
|-- SpoolDamaged           a file in the spool is neither whole nor merely cut at its end
|-- SpoolInUse             another process writes the spool
`-- FollowerCrashed        the follower's thread died of an error nobody foresaw
"""

from streams.net.errors import LiveError


class CommittedLogDiverged(LiveError):
    """The leader lacks records that lie committed in the spool: the quorum lost them."""


class SpoolDamaged(LiveError):
    """A spool file other than the end of the newest segment is damaged."""


class SpoolInUse(LiveError):
    """Another process holds the spool's lock."""


class FollowerCrashed(LiveError):
    """The follower's thread ended with an unexpected error, chained as the cause."""
