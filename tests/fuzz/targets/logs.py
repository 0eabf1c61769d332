"""Real metadata logs as seeds; how lengths and checksums that damage breaks are repaired."""

import gzip
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from crc32c import crc32c

from streams.wire.batches import CRC_START, HEADER, LENGTH_END, read_batches
from tests.oracle.fixtures import DATA

_CRC_AT: Final = 17
_MAGIC_AT: Final = 16
_BATCHES_A_SEED: Final = 12


@cache
def segments() -> tuple[bytes, ...]:
    """Return the beginnings of all segments and snapshots that real clusters wrote."""
    files = sorted(each for each in Path(DATA).rglob("*.gz") if not each.name.endswith(".txt.gz"))
    return tuple(each for each in map(_begin, files) if each)


def _begin(file: Path) -> bytes:
    content = gzip.decompress(file.read_bytes())
    ends = [each.position + each.size for each in read_batches(content, file=file.name)]
    return content[: (ends or [0])[:_BATCHES_A_SEED][-1]]


@cache
def values() -> tuple[bytes, ...]:
    """Return real records' values: a few of each type and version."""
    found: dict[bytes, list[bytes]] = {}
    for segment in segments():
        for batch in read_batches(segment, file="seed"):
            for _, _, value in batch.records():
                found.setdefault(value[:3], []).append(value)
    return tuple(each for same in found.values() for each in dict.fromkeys(same[:6]))


def sealed(data: bytes) -> bytes:
    """Give every batch a length that ends where the next one begins, and a checksum that fits."""
    return b"".join(map(_sealed, _parts(data)))


def _parts(data: bytes) -> Iterator[bytes]:
    """Cut where the lengths say; what is behind the last length that can be right is one part."""
    position = 0
    while len(data) - position > HEADER.size:
        size = LENGTH_END + int.from_bytes(data[position + 8 : position + 12], signed=True)
        if not HEADER.size <= size <= len(data) - position:
            break
        yield data[position : position + size]
        position += size
    yield data[position:]


def _sealed(part: bytes) -> bytes:
    if len(part) < HEADER.size:
        return part
    batch = bytearray(part)
    batch[8:LENGTH_END] = (len(batch) - LENGTH_END).to_bytes(4)
    batch[_MAGIC_AT] = 2
    batch[_CRC_AT:CRC_START] = crc32c(batch[CRC_START:]).to_bytes(4)
    return bytes(batch)


def joined(parts: Iterable[bytes]) -> bytes:
    """Put parts into one input, each behind its length, for parsers of several files."""
    return b"".join(len(each).to_bytes(4) + each for each in parts)


def parted(data: bytes) -> list[bytes]:
    """Take apart what `joined` made, whatever became of it."""
    found, position = [], 0
    while position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4])
        found.append(data[position + 4 : position + 4 + size])
        position += 4 + size
    return found
