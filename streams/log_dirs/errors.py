"""What can go wrong with the files in which what is known of the disks is kept.

    LogDirsError (`streams.kafka.broker_errors`)
    |-- MemoryUnusable       `disks.db` cannot be opened, read or written
    `-- RequestsUnusable     `requests.db` cannot be opened, read or written

Every one says what and where. Errors of SQLite and the operating system are chained below them and
never leak.
"""

from streams.kafka.broker_errors import LogDirsError


class MemoryUnusable(LogDirsError):
    """The memory's file is damaged, of a later version, or not writable."""


class RequestsUnusable(LogDirsError):
    """The file of requests is damaged or not writable."""
