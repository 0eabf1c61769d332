"""Errors of settings and credentials, which occur before a request is sent.

LiveError                    base of the errors of the Kafka clients, the follower and the disks
`-- AuthenticationFailed     rejected until the credentials change; retried slowly
"""


class LiveError(Exception):
    """A node cannot be queried, or its answer cannot be stored."""


class AuthenticationFailed(LiveError):
    """The node rejected the password or the certificate, or a secret cannot be read."""
