"""Errors of the requests for JMX numbers.

Each names the failure and the address. Errors of urllib3, prometheus_client and the operating
system are chained to them, and never raised directly.
"""


class JmxError(Exception):
    """The numbers cannot be read."""


class Unreachable(JmxError):
    """Transient: refused, timed out, closed, or a server's own error."""


class NotMetrics(JmxError):
    """The answer is not metrics: not the text format, no bean, too long."""


class AccessRefused(JmxError):
    """Until an operator fixes it: 401, 403, a certificate, or the file of a secret."""
