"""Digests of values that may be secrets: values are compared and not stored."""

import hashlib
from typing import Final

DIGEST_BYTES: Final = 8


def digest(value: str) -> bytes:
    """Return the first 8 bytes of the BLAKE2b of a value.

    Raises:
        UnicodeEncodeError: the value contains a lone surrogate, which has no UTF-8.
    """
    return hashlib.blake2b(value.encode()).digest()[:DIGEST_BYTES]
