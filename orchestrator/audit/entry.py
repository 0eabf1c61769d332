"""One entry of the audit trail, and its hash."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.errors import AuditError
from orchestrator.output.json_value import JsonValue

ALGORITHM: Final = "sha256"
GENESIS: Final = f"{ALGORITHM}:{'0' * 64}"
"""The previous hash of the first entry."""
_DIGEST: Final = re.compile("[0-9a-f]{64}")
BODY_BYTES_MAX: Final = 2**20
"""The maximum for a body's canonical JSON; an approval takes 0.1 kB for each broker."""


def parse_hash(text: str) -> str:
    """Return the hash that a text names, in any case, with or without `sha256:`.

    Raises:
        ValueError: the text is not a hash.
    """
    digest = text.strip().lower().removeprefix(f"{ALGORITHM}:")
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"{text!r} is not a hash: {ALGORITHM}: and 64 hexadecimal digits")
    return f"{ALGORITHM}:{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry, which never changes.

    Attributes:
        sequence: starts at 1, without gaps, over all clusters of the log.
        at_ms: the time by the clock of the process that wrote it; not necessarily increasing.
        kind: what happened, in snake_case.
        hash: `sha256:` and the hex digest of this entry with `previous`.
        previous: the hash of the entry before; `GENESIS` for the first.
    """

    sequence: int
    at_ms: int
    cluster: str
    kind: str
    body: Mapping[str, JsonValue]
    hash: str
    previous: str

    def hashed(self) -> dict[str, JsonValue]:
        return {
            "previous": self.previous,
            "sequence": self.sequence,
            "at_ms": self.at_ms,
            "cluster": self.cluster,
            "kind": self.kind,
            "body": self.body,
        }

    def line(self) -> str:
        """Return the entry as a line of the export: the hashed fields, and the hash."""
        return canonical({**self.hashed(), "hash": self.hash})

    def seal(self) -> str:
        """Return the SHA-256 hash of the canonical JSON of exactly the six hashed fields.

        It equals `hash` unless the entry was changed.

        Raises:
            AuditError: part of it has no canonical JSON.
        """
        return f"{ALGORITHM}:{hashlib.sha256(canonical(self.hashed()).encode()).hexdigest()}"


def canonical(value: JsonValue) -> str:
    """Return JSON in which equal values are equal text: sorted keys, no spaces, UTF-8.

    Raises:
        AuditError: it contains a NaN or an infinity, a key that is not text, a type that JSON does
            not have, or a lone surrogate, which has no UTF-8 encoding.
    """
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AuditError(
            f"an audit entry contains the lone surrogate {error.object[error.start]!r}, which has"
            " no UTF-8 encoding: decode bytes with errors='backslashreplace'"
        ) from error
    return text


def plain(value: object, where: str = "body") -> JsonValue:
    """Convert a value to lists and dictionaries of exactly JSON's types.

    Raises:
        AuditError: it contains a NaN or an infinity, a key that is not text, or another type.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise AuditError(
                    f"{where} of an audit entry has the key {key!r}, which is not text"
                )
        return {str(key): plain(each, f"{where}.{key}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, f"{where}[{at}]") for at, each in enumerate(value)]
    raise AuditError(f"{where} of an audit entry is {value!r}, which is not a JSON value")
