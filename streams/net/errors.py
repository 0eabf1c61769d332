"""What can go wrong before a request is sent: settings and credentials.

LiveError                    base of the errors of the Kafka clients, the follower and the disks
`-- AuthenticationFailed     refused until credentials change; tried again slowly
"""


class LiveError(Exception):
    """A node cannot be asked, or what it answered cannot be kept."""


class AuthenticationFailed(LiveError):
    """The node refused the credentials (SASL), or a secret cannot be read."""
