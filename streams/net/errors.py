"""Errors of settings and credentials, which occur before a request is sent."""


class LiveError(Exception):
    """Base of the errors of the Kafka clients, the follower and the disks."""


class AuthenticationFailed(LiveError):
    """The node rejects the credentials, or a secret cannot be read; retried slowly."""
