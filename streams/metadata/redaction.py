"""Overwrites the secrets of the metadata log before it is written to the spool.

Secrets are the values that Kafka's own RecordRedactor conceals: the keys of
UserScramCredentialRecord, and the value of a ConfigRecord with a sensitive name
(`migration.values.secret_settings`). A DelegationTokenRecord has no key of its token. Lengths do
not change, so a batch differs only in the bytes of the secret and in its CRC; offsets, timestamps
and byte positions are those of the controllers.
"""

from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from migration.values.secret_settings import is_sensitive
from streams.wire.batches import CRC_START, HEADER, Batch, read_batches

_CONFIG: Final = bytes((1, 4, 0))
_SCRAM: Final = bytes((1, 11, 0))
_CRC_BYTES: Final = 4
_VARINT_BYTES_MAX: Final = 5
_IN_TEXT: Final = b"*"
_IN_BYTES: Final = b"\0"


def redacted(records: bytes) -> bytes:
    """Return the batches with every secret overwritten; the same object if there is no secret.

    Bytes after the last whole batch do not change. The function is idempotent.

    Raises:
        DamagedBatch: a batch fails its check.
    """
    if _CONFIG not in records and _SCRAM not in records:
        return records
    changed: bytearray | None = None
    for batch in read_batches(records, file="the reply", allow_partial_tail=True):
        secrets = list(_secrets(records, batch))
        if secrets:
            changed = bytearray(records) if changed is None else changed
            _overwrite(changed, batch, secrets)
    return records if changed is None else bytes(changed)


def _overwrite(content: bytearray, batch: Batch, secrets: list[tuple[int, int, bytes]]) -> None:
    for start, end, filler in secrets:
        content[start:end] = filler * (end - start)
    checked = batch.position + CRC_START
    crc = crc32c(content[checked : batch.position + batch.size])
    content[checked - _CRC_BYTES : checked] = crc.to_bytes(_CRC_BYTES)


def _secrets(content: bytes, batch: Batch) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and the overwriting byte of each secret in a batch.

    A value that does not decode is not changed: the job reports it as damage, with its place.
    """
    if batch.is_control or batch.compression or not _may_have(content, batch):
        return
    for start, end in _values(content, batch):
        found = _secrets_of_value(content, start)
        if all(last <= end for _, last, _ in found):
            yield from found


def _may_have(content: bytes, batch: Batch) -> bool:
    """Whether a batch may contain a secret; the check is cheap and has no false negatives."""
    start, end = batch.position + HEADER.size, batch.position + batch.size
    for frame in (_CONFIG, _SCRAM):
        at = content.find(frame, start, end)
        while at >= 0:
            if _secrets_of_value(content, at):
                return True
            at = content.find(frame, at + 1, end)
    return False


def _values(content: bytes, batch: Batch) -> Iterator[tuple[int, int]]:
    """Yield start and end of the value of each record (DefaultRecord.writeTo)."""
    at, end = batch.position + HEADER.size, batch.position + batch.size
    for _ in range(batch.count):
        try:
            length, at = _varint(content, at)
            following = at + length
            _, at = _varint(content, at + 1)  # after the attributes: the timestamp delta
            _, at = _varint(content, at)  # the offset delta
            key, at = _varint(content, at)
            size, at = _varint(content, at + max(key, 0))
        except (IndexError, ValueError):
            return
        if not at <= at + size <= following <= end:
            return
        yield at, at + size
        at = following


def _secrets_of_value(content: bytes, at: int) -> list[tuple[int, int, bytes]]:
    try:
        return [each for each in _parts_of_value(content, at) if each[0] < each[1]]
    except (IndexError, ValueError):
        return []


def _parts_of_value(content: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    frame, at = content[at : at + len(_CONFIG)], at + len(_CONFIG)
    if frame == _CONFIG:
        _, at = _sized(content, at + 1)  # after the resource type: the resource name
        name, at = _sized(content, at)
        value, end = _sized(content, at)
        if is_sensitive(content[name:at].decode()):
            yield value, end, _IN_TEXT
    elif frame == _SCRAM:
        _, at = _sized(content, at)  # the user
        at += 1  # the mechanism
        for _ in ("salt", "stored key", "server key"):
            start, at = _sized(content, at)
            yield start, at, _IN_BYTES


def _sized(content: bytes, at: int) -> tuple[int, int]:
    """Return start and end of a compact string or compact bytes; null is empty."""
    size, start = _unsigned(content, at)
    return start, start + max(size - 1, 0)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag varint and the position after it."""
    number, at = _unsigned(content, at)
    return (number >> 1) ^ -(number & 1), at


def _unsigned(content: bytes, at: int) -> tuple[int, int]:
    number = 0
    for index in range(2 * _VARINT_BYTES_MAX):
        byte = content[at + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, at + index + 1
    raise ValueError("not a varint")
