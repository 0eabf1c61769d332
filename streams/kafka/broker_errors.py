"""What can go wrong while brokers are asked about their disks.

    LogDirsError
    |-- BrokerUnreachable    transient: refused, timed out, hung up, or its reply does not decode
    |-- CredentialsRefused   refused until credentials change (SASL)
    |-- NotAuthorized        refused until the ACL is granted: DESCRIBE on CLUSTER
    |-- RequestRefused       the broker answered with another error, or is too old to be asked
    `-- WrongCluster         the brokers belong to another cluster than the one that is followed

Every one says what and where. Errors of kafka-python, kio and the operating system are chained
below them and never leak.
"""


class LogDirsError(Exception):
    """The disks cannot be asked for, or what is known of them cannot be kept."""


class BrokerUnreachable(LogDirsError):
    """The broker did not answer in time, or not legibly."""


class CredentialsRefused(LogDirsError):
    """The broker refused the credentials, or a secret cannot be read."""


class NotAuthorized(LogDirsError):
    """The principal lacks DESCRIBE on CLUSTER, which KafkaApis.handleDescribeLogDirs demands."""


class RequestRefused(LogDirsError):
    """The broker answered with an error that no ACL mends."""


class WrongCluster(LogDirsError):
    """The cluster id is not the configured, or the remembered, one."""
