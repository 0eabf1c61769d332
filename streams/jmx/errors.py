"""What can go wrong while JMX numbers are asked for.

    JmxError
    |-- Unreachable     transient: refused, timed out, hung up, or a server's own error
    |-- NotMetrics      what answers is something else: not the text format, no bean, too much of it
    `-- AccessRefused   refused until a person mends it: 401, 403, a certificate, a secret's file

Every one says what and where. Errors of urllib3, prometheus_client and the operating system are
chained below them and never leak.
"""


class JmxError(Exception):
    """The numbers cannot be had."""


class Unreachable(JmxError):
    """Nobody answered in time."""


class NotMetrics(JmxError):
    """The answer is not what an exporter, or Prometheus, gives."""


class AccessRefused(JmxError):
    """The credentials or the certificate are refused, or cannot be read."""
