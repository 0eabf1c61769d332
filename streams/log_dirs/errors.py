"""Errors of the files that store the state of the disks.

    LiveError (`streams.net.errors`)
    |-- MemoryUnusable       `disks.db` cannot be opened, read or written
    `-- RequestsUnusable     `requests.db` cannot be opened, read or written

Each names the failure and the file. Errors of SQLite and the operating system are chained to them,
and never raised directly.
"""

from streams.net.errors import LiveError


class MemoryUnusable(LiveError):
    """The file of the memory is damaged, of a later version, or not writable."""


class RequestsUnusable(LiveError):
    """The file of requests is damaged or not writable."""
