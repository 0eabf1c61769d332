"""Directory ids: which log directory of a broker holds a replica (KIP-858, Kafka's DirectoryId).

A directory id is 16 raw bytes, big-endian, as on the wire: it hashes fast and needs no conversion.
Its text is Kafka's: 22 characters of unpadded URL-safe base64.
"""

import base64
import binascii
from typing import Final, NewType

DirectoryId = NewType("DirectoryId", bytes)

MIGRATING: Final = DirectoryId(bytes(16))
"""Uuid(0, 0): the replica is older than its broker's directory ids (3.9's id, not the KIP's)."""
UNASSIGNED: Final = DirectoryId(bytes(15) + b"\x01")
"""Uuid(0, 1): a new replica that its broker has not assigned to a directory yet."""
LOST: Final = DirectoryId(bytes(15) + b"\x02")
"""Uuid(0, 2): the replica is in an unknown failed directory; nothing in 3.9 writes it."""

RESERVED: Final = 100
"""Kafka gives no directory an id below this one, read as a number (KIP-858, "Reserved UUIDs")."""


class InvalidDirectoryId(ValueError):
    """The text is not a directory id in Kafka's format."""


def is_reserved(raw: bytes) -> bool:
    """Return whether no directory may have the id (DirectoryId.reserved).

    A replica with such an id is pending: its directory is not known, and it holds its broker.
    """
    return not any(raw[:8]) and int.from_bytes(raw[8:], "big", signed=True) < RESERVED


def to_text(raw: bytes) -> str:
    """Format 16 raw bytes (an id of a directory, topic or incarnation) as Kafka's Uuid.toString."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def from_text(text: str) -> DirectoryId:
    """Parse the text of an id.

    Raises:
        InvalidDirectoryId: the text is not 22 characters of URL-safe base64.
    """
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidDirectoryId(f"{text!r} is not URL-safe base64") from error
    if len(raw) != 16:
        raise InvalidDirectoryId(f"{text!r} holds {len(raw)} bytes, a directory id holds 16")
    return DirectoryId(raw)
