"""Errors of the files that store the state of the disks.

Each names the failure and the file. Errors of SQLite and the operating system are chained to them,
and never raised directly.
"""

from streams.net.errors import LiveError


class MemoryUnusable(LiveError):
    """`disks.db` is damaged, of a later version, or cannot be opened, read or written."""


class RequestsUnusable(LiveError):
    """`requests.db` is damaged, or cannot be opened, read or written."""
