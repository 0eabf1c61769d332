"""What can go wrong before a request is sent: settings and credentials.

LiveError                    every error of the follower and of the Kafka client is one
`-- AuthenticationFailed     refused until credentials change; tried again slowly
"""


class LiveError(Exception):
    """The follower cannot go on as asked."""


class AuthenticationFailed(LiveError):
    """The controller refused the credentials (SASL)."""
