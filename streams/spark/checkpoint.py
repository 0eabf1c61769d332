"""Spark's checkpoint directory: its query, and the form of earlier releases."""

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from streams.state.recovery import NEW_STORE

_NONE: Final = "-"
"""Spark's mark for a source without an offset."""
_CHECKSUMS: Final = b"crc\0"
_COPIED: Final = frozenset({"SSTs", "logs"})
"""Directories to which RocksDBFileManager copies in place: no snapshot has an incomplete file, and
Hadoop checks each when Spark reads it."""
_SCHEMA_PATHS: Final = "stateSchemaFilePaths"


class ForeignCheckpoint(Exception):
    """An earlier release wrote the checkpoint, for other sources than the configured ones."""


class DamagedCheckpoint(Exception):
    """A file of the checkpoint is not as Spark writes it: Spark never syncs its files to disk."""

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"{file} of Spark's checkpoint is damaged, as a power cut may leave it: {NEW_STORE}"
        )


def query_id(checkpoint: Path) -> str | None:
    """Return the id of the checkpoint's query; None: there is no checkpoint.

    Raises:
        DamagedCheckpoint: the file with it cannot be read.
    """
    file = checkpoint / "metadata"
    if not file.is_file():
        return None
    try:
        return str(json.loads(file.read_text("utf-8"))["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedCheckpoint(file) from error


def remove_unfinished(checkpoint: Path) -> None:
    """Remove a first batch that a full disk cut off: Spark rejects a checkpoint with one."""
    for pattern in (".*.tmp", ".*.tmp.crc"):
        for left in (checkpoint / "offsets").glob(pattern):
            left.unlink(missing_ok=True)


def last_batch(checkpoint: Path) -> int:
    """Return the number of the last batch that Spark committed; -1: none."""
    commits = (checkpoint / "commits").glob("[0-9]*")
    return max((int(each.name) for each in commits if each.name.isdecimal()), default=-1)


def check_files(checkpoint: Path) -> None:
    """Check every file against its checksum file, which Hadoop writes (ChecksumFileSystem).

    Raises:
        DamagedCheckpoint: a file is not as it was written.
    """
    for sums in sorted(checkpoint.rglob(".*.crc")):
        file = sums.with_name(sums.name[1 : -len(".crc")])
        if file.name.startswith(".") or file.parent.name in _COPIED or not file.is_file():
            continue  # a kill or a full disk leaves temporary and incomplete files
        found, content = sums.read_bytes(), file.read_bytes()
        magic, size, of_each = found[:4], found[4:8], found[8:]
        if magic != _CHECKSUMS or len(size) < 4 or not any(size):
            if content:
                continue  # Hadoop ignores checksums that it cannot read
            raise DamagedCheckpoint(file)
        if b"".join(_checksums(content, *struct.unpack(">I", size))) != of_each:
            raise DamagedCheckpoint(file)


def _checksums(content: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(content), size):
        yield struct.pack(">I", zlib.crc32(content[at : at + size]))


def follow_move(checkpoint: Path) -> None:
    """Adapt a checkpoint that was moved: Spark stores the absolute paths of its state's schemas.

    Raises:
        DamagedCheckpoint: a file with such a path cannot be read.
    """
    for file in sorted((checkpoint / "state").glob("*/_metadata/v2/[0-9]*")):
        schemas = file.parents[2] / "_stateSchema"
        try:
            before = file.read_text("utf-8").splitlines()
            after = [_with_schemas_in(schemas, line) for line in before]
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedCheckpoint(file) from error
        if after != before:
            _replace(file, "\n".join(after))


def _with_schemas_in(schemas: Path, line: str) -> str:
    if _SCHEMA_PATHS not in line:
        return line
    content = json.loads(line)
    is_moved = False
    for store in content["stateStoreInfo"]:
        paths = [Path(each) for each in store[_SCHEMA_PATHS]]
        here = [f"file:{schemas / each.parent.name / each.name}" for each in paths]
        is_moved |= here != store[_SCHEMA_PATHS]
        store[_SCHEMA_PATHS] = here
    return json.dumps(content, separators=(",", ":")) if is_moved else line


def join_sources(checkpoint: Path, sources: Sequence[str]) -> None:
    """Convert the offsets of an earlier release, which had a data source for each source.

    `sources`: their names in `streams.spark.data_source`, in that release's order.

    Raises:
        ForeignCheckpoint: it had another number of sources.
        DamagedCheckpoint: offsets cannot be read.
    """
    for file in sorted((checkpoint / "offsets").glob("[0-9]*")):
        try:
            version, settings, *lines = file.read_text("utf-8").splitlines()
            offsets = [None if line == _NONE else json.loads(line) for line in lines]
            if _is_joined(offsets):
                continue
        except (ValueError, AttributeError) as error:
            raise DamagedCheckpoint(file) from error
        if len(offsets) != len(sources):
            raise ForeignCheckpoint(
                f"{checkpoint} was written for {len(offsets)} sources, and the configured clusters "
                f"have {len(sources)}: configure the clusters with which it was written, or "
                f"{NEW_STORE}"
            )
        named = zip(sources, offsets, strict=True)
        joined = json.dumps({name: offset for name, offset in named if offset is not None})
        _replace(file, "\n".join((version, settings, joined)))


def _is_joined(offsets: Sequence[Any]) -> bool:
    """Return whether this is the one offset of `streams.spark.data_source`."""
    return len(offsets) == 1 and all(isinstance(each, dict) for each in (offsets[0] or {}).values())


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(f".{file.name}.joined")
    with fresh.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    # Hadoop's checksum of the old content; a file without one is not checked.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    fresh.replace(file)
