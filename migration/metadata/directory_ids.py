"""Directory ids: which log directory of a broker holds a replica (KIP-858, Kafka's DirectoryId).

A directory id travels as its 16 raw bytes, big-endian, as on the wire: it hashes fast and needs no
conversion in the hot path. It prints as Kafka prints it: 22 characters of unpadded URL-safe base64.
"""

import base64
import binascii
from typing import Final, NewType

DirectoryId = NewType("DirectoryId", bytes)

MIGRATING: Final = DirectoryId(bytes(16))
"""Uuid(0, 0): there before the broker could say where (the shipped id, not the KIP's)."""
UNASSIGNED: Final = DirectoryId(bytes(15) + b"\x01")
"""Uuid(0, 1): a new replica whose broker has not yet placed it."""
LOST: Final = DirectoryId(bytes(15) + b"\x02")
"""Uuid(0, 2): the directory is gone; nothing in 3.9 writes it."""

PENDING: Final = frozenset((MIGRATING, UNASSIGNED))
"""The ids that hold a broker: no real directory is known yet."""


class InvalidDirectoryId(ValueError):
    """The text is not a directory id as Kafka prints one."""


def to_text(raw: bytes) -> str:
    """Print 16 raw bytes (a directory, topic or incarnation id) as Kafka's Uuid.toString does."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def from_text(text: str) -> DirectoryId:
    """Read what `to_text` printed.

    Raises:
        InvalidDirectoryId: not 22 characters of URL-safe base64.
    """
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidDirectoryId(f"{text!r} is not URL-safe base64") from error
    if len(raw) != 16:
        raise InvalidDirectoryId(f"{text!r} holds {len(raw)} bytes, a directory id holds 16")
    return DirectoryId(raw)
