"""Errors of the follower of a live quorum, in addition to those of the connection."""

from streams.net.errors import LiveError


class CommittedLogDiverged(LiveError):
    """Permanent: the leader lacks committed records that the spool has; the quorum lost them."""


class SpoolDamaged(LiveError):
    """A spool file other than the end of the newest segment is damaged."""


class SpoolInUse(LiveError):
    """Another process holds the spool's lock."""


class FollowerCrashed(LiveError):
    """The follower's thread ended with an unexpected error, chained as the cause."""
