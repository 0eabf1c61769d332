"""What can go wrong with the files that store what is known of the disks.

    LiveError (`streams.net.errors`)
    |-- MemoryUnusable       `disks.db` cannot be opened, read or written
    `-- RequestsUnusable     `requests.db` cannot be opened, read or written

Each names what failed and where. Errors of SQLite and the operating system are chained below them
and never leak.
"""

from streams.net.errors import LiveError


class MemoryUnusable(LiveError):
    """The memory's file is damaged, of a later version, or not writable."""


class RequestsUnusable(LiveError):
    """The file of requests is damaged or not writable."""
