"""What can go wrong while asking brokers about their disks.

    LogDirsError
    |-- BrokerUnreachable    transient: refused, timed out, hung up, or its reply does not decode
    |-- CredentialsRefused   refused until credentials change (SASL)
    |-- NotAuthorized        refused until the ACL is granted: DESCRIBE on CLUSTER
    |-- RequestRefused       the broker answered with another error, or is too old to be asked
    |-- WrongCluster         the brokers belong to another cluster than the one that is followed
    |-- MemoryUnusable       `disks.db` cannot be opened, read or written
    `-- RequestsUnusable     `requests.db` cannot be opened, read or written

Every one says what and where. Errors of kafka-python, kio, SQLite and the operating system are
chained below them and never leak.
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


class MemoryUnusable(LogDirsError):
    """The memory's file is damaged, of a later version, or not writable."""


class RequestsUnusable(LogDirsError):
    """The file of requests is damaged or not writable."""
