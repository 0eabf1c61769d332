"""Errors of the requests for JMX numbers.

    JmxError
    |-- Unreachable     transient: refused, timed out, closed, or a server's own error
    |-- NotMetrics      the answer is not metrics: not the text format, no bean, too long
    `-- AccessRefused   until an operator fixes it: 401, 403, a certificate, a secret's file

Each names the failure and the address. Errors of urllib3, prometheus_client and the operating
system are chained to them, and never raised directly.
"""


class JmxError(Exception):
    """The numbers cannot be read."""


class Unreachable(JmxError):
    """There was no answer in time."""


class NotMetrics(JmxError):
    """The answer does not come from an exporter or from Prometheus."""


class AccessRefused(JmxError):
    """The server rejects the credentials or the certificate, or they cannot be read."""
